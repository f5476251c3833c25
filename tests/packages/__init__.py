"""Packages that bring something of their own to Transom, and a way to install them for other processes."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path


def install(name: str, folder: Path) -> None:
    """Put a package of this folder where PYTHONPATH can find it, with its entry points, as an installer does."""
    source = Path(__file__).parent / name
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    for module in source.glob("*.py"):
        shutil.copy(module, folder)
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{entry} = {value}\n" for entry, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))
