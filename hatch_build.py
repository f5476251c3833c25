"""Put functions that were built ahead of time into the wheel: `make wheel` says where they are."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    """A wheel with such functions is one for this system and this Python; without, for any."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is built."""
        folder = os.environ.get("TRANSOM_KERNELS")
        if folder and version == "standard":
            build_data["force_include"][folder] = "transom/_kernels"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
