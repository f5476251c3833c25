"""Put functions that were built ahead of time into the wheel: `make wheels` says where they are."""

from __future__ import annotations

import json
import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    """A wheel with such functions is one for this system and the Python that they were built for; without, for any."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is built."""
        folder = os.environ.get("TRANSOM_KERNELS")
        if folder and version == "standard":
            python = json.loads(Path(folder, "index.json").read_bytes())["python"].replace("cpython-", "cp")
            system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["force_include"][folder] = "transom/_kernels"
            build_data["pure_python"] = False
            build_data["tag"] = f"{python}-{python}-{system}"
