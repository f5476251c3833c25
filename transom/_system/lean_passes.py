"""LLVM's passes over a function that counts no references: once, not three times.

The compiler lets LLVM optimise each function alone, then its module in haste, to bring the counting of references to
one place and to drop what cancels out, and only then in earnest. Where nothing is counted the last pass does it all.
"""

from __future__ import annotations

from functools import cache
from typing import Any

_COUNTING = ("NRT_incref", "NRT_decref")


@cache
def optimise_once() -> None:
    """Leave out passes that look for references in vain, in this process."""
    from numba.core.codegen import CPUCodeLibrary

    alone, in_haste_and_earnest = CPUCodeLibrary._optimize_functions, CPUCodeLibrary._optimize_final_module

    def optimize_functions(library: Any, module: Any) -> None:
        if _counts(module):
            alone(library, module)
        else:
            module.data_layout = library._codegen._data_layout

    def optimize_final_module(library: Any) -> None:
        if _counts(library._final_module):
            in_haste_and_earnest(library)
        else:
            passes, builder = library._codegen._module_pass_manager()
            passes.run(library._final_module, builder)

    CPUCodeLibrary._optimize_functions = optimize_functions
    CPUCodeLibrary._optimize_final_module = optimize_final_module


def _counts(module: Any) -> bool:
    return any(each.name in _COUNTING for each in module.functions)
