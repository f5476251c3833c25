"""One digest of all that the package's answers depend on."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path

_SOURCES = {".py", ".json", ".safetensors", ".toml"}


@cache
def source_digest() -> str:
    """16 hexadecimal digits that depend on every source file of the package, shipped weights and tables included."""
    state = blake2b(digest_size=8)
    package = Path(__file__).parents[1]
    for path in sorted(path for path in package.rglob("*") if path.suffix in _SOURCES):
        name = str(path.relative_to(package))
        if not name.startswith("_kernels"):  # made from the others
            state.update(name.encode())
            state.update(path.read_bytes())
    return state.hexdigest()
