"""Facts about the machine of a run."""

from __future__ import annotations

import os
import platform
import socket
from functools import cache
from pathlib import Path
from typing import Any


@cache
def machine() -> dict[str, Any]:
    """Host, processor, cores, cores that this process may use, memory [MiB] and system."""
    import psutil

    return {
        "host": socket.gethostname(),
        "processor": _processor(),
        "cores": psutil.cpu_count(logical=False) or psutil.cpu_count(),
        "usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": psutil.virtual_memory().total // 2**20,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def load() -> float | None:
    """Load average over one minute; None if it is unknown."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
