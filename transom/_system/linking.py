"""What of a kernel goes into the code of its callers before that is optimised: all of it, or the declaration.

The compiler takes all code that a function reaches into its module and optimises it there, again for each caller: two
thirds of what it optimised it had optimised before. It does not inline a large function in the end. So callers of a
large kernel only get its declaration, with what the optimiser found out about it; its code comes back when machine
code is made.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

_LARGE = 3
"""A kernel is large if it has so many lines of code for each argument and for 60 more.

The optimiser inlines about 50 instructions, and one for each argument that a call would hand over. The largest kernel
of ours that it inlined unasked had 2.5 lines for each argument and for 60 more.
"""

_HEADER = re.compile(r"^define (?:[a-z_]+ )*?((?:noundef |range\(|i32 ).*?)(?: local_unnamed_addr)?(?: #\d+)? {$", re.M)
_FINDINGS = re.compile(r"^; Function Attrs: (.*)$", re.M)
_DECLARED = re.compile(r'^declare .*? @"?([\w.$]+)"?\(.*$', re.M)


class Part(NamedTuple):
    """What callers of a kernel get.

    Parameters
    ----------
    code : a module of LLVM without the code of large kernels that it calls; None of a large kernel.
    symbol : the name of the kernel in it.
    declaration : of a large kernel.
    """

    code: Any
    symbol: str
    declaration: str | None


def optimise(library: Any, symbol: str) -> None:
    """Optimise a kernel's code.

    Parameters
    ----------
    library : the compiler's of the kernel. It gets a `part` for callers; its modules hold all code that is reached.
    symbol : the name of the kernel in it.
    """
    linked = list(dict.fromkeys(library._linking_libraries))
    for each in linked:
        library._reload_init.update(each._reload_init)
    library._linking_libraries = [_Linked(code) for each in linked if (code := _code(each)) is not None]

    def finished() -> None:
        library._finalize_dynamic_globals()
        library._finalized = True

    library._finalize_final_module = finished
    library.finalize()
    code = library._get_module_for_linking()
    text = str(code.get_function(symbol))
    declaration = _declaration(text) if _is_large(text) else None
    library.part = Part(code if declaration is None else None, symbol, declaration)
    if apart := [each for each in linked if _code(each) is not each._get_module_for_linking()]:
        whole = code.clone()
        for each in apart:
            whole.link_in(each._get_module_for_linking(), preserve=True)
        library._final_module = library._shared_module = whole


class _Linked:
    """What the compiler asks a library for that it links."""

    def __init__(self, code: Any) -> None:
        self._reload_init: set[Any] = set()
        self._code = code

    def _get_module_for_linking(self) -> Any:
        return self._code


@cache
def declare_findings() -> None:
    """Let the compiler declare large kernels with what the optimiser found out about them."""
    from numba.core.cgutils import normalize_ir_text
    from numba.core.codegen import CPUCodeLibrary, ll

    add = CPUCodeLibrary.add_ir_module

    def add_ir_module(library: Any, module: Any) -> None:
        parts = [each.part for each in library._linking_libraries if hasattr(each, "part")]
        known = {part.symbol: part.declaration for part in parts if part.declaration is not None}
        if not known:
            add(library, module)
            return
        text = normalize_ir_text(str(module))
        code = ll.parse_assembly(_DECLARED.sub(lambda found: known.get(found[1], found[0]), text))
        code.name = module.name
        code.verify()
        library.add_llvm_module(code)

    CPUCodeLibrary.add_ir_module = add_ir_module


def _code(library: Any) -> Any:
    """The module that callers link, if any."""
    return library.part.code if hasattr(library, "part") else library._get_module_for_linking()


def _is_large(text: str) -> bool:
    """Whether a function would not be inlined."""
    header = text[: text.index("{\n")]
    return "alwaysinline" not in header and text.count("\n") > _LARGE * (60 + header.count(" %"))


def _declaration(text: str) -> str | None:
    """The declaration of a function; None if its definition looks otherwise than expected."""
    header, findings = _HEADER.search(text), _FINDINGS.search(text)
    return header and f"declare {header[1]} {findings[1] if findings else ''}"
