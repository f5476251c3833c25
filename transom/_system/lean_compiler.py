"""Parts of the compiler that do work for nothing, a tenth of its time, done again with less.

None of them changes what the compiler makes of a function:

- it notes when it takes and releases its lock around each call of LLVM, for timers that nobody reads;
- it types each operator by trying all declarations of it, those of texts and lists too: the answer depends on the types
  alone, and most operators stand between the same few types;
- it goes through all fields of an instruction, texts and places in files included, to find the variables in it;
- it looks for functions within functions, and says after every step which variables live where: our kernels have
  neither functions inside nor anything that asks for that before the last step.
"""

from __future__ import annotations

from functools import cache
from typing import Any

_PACKAGE = __name__.partition(".")[0]


@cache
def make_lean() -> None:
    """Replace these parts of the compiler in this process."""
    _drop_notes_of_locks()
    _remember_types_of_calls()
    _list_variables_quickly()
    _skip_what_kernels_have_not()


def _drop_notes_of_locks() -> None:
    from numba.core import base  # which registers them
    from numba.core.codegen import ll

    for before, after in list(ll.ffi.lib._lock._cblist):
        if before.__module__ == base.__name__:
            ll.ffi.unregister_lock_callback(before, after)


def _remember_types_of_calls() -> None:
    from numba.core import types
    from numba.core.targetconfig import ConfigStack

    functions: Any = types.Function
    find = functions.get_call_type
    plain = (types.Number, types.Boolean, types.IntegerLiteral, types.BooleanLiteral, types.Array, types.Record)

    def get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or not all(isinstance(each, plain) for each in args):
            return find(function, context, args, kws)
        try:
            known = function._known_calls
        except AttributeError:
            known = function._known_calls = {}
        flags = ConfigStack.top_or_none()
        key = (context, *args)
        for seen, signature, implementation in known.get(key, ()):
            if seen == flags:
                function._impl_keys[signature.args] = implementation  # there is one of each set of options
                return signature
        signature = find(function, context, args, kws)
        implementation = function._impl_keys[signature.args]
        known.setdefault(key, []).append((flags and flags.copy(), signature, implementation))
        return signature

    functions.get_call_type = get_call_type


def _list_variables_quickly() -> None:
    from numba.core import ir

    variable, instruction = ir.Var, ir.Inst
    leaves = {str, int, ir.Loc, type(None), ir.Const, ir.Global, ir.FreeVar}

    def variables(_: Any, value: Any) -> list[Any]:
        found: list[Any] = []
        collect((value,), found)
        return found

    def collect(values: Any, found: list[Any]) -> None:
        for value in values:
            kind = type(value)
            if kind is variable:
                found.append(value)
            elif kind in leaves:
                continue
            elif kind is list or kind is tuple:
                collect(value, found)
            elif kind is dict:
                collect(value.values(), found)
            elif kind is ir.Expr:
                collect(value._kws.values(), found)
            elif isinstance(value, instruction):
                found += value.list_vars()
            elif isinstance(value, variable):
                found.append(value)
            elif isinstance(value, list | tuple):
                collect(value, found)
            elif isinstance(value, dict):
                collect(value.values(), found)

    instruction._rec_list_vars = variables


def _skip_what_kernels_have_not() -> None:
    from numba.core.postproc import PostProcessor, VariableLifetime
    from numba.core.transforms import canonicalize_cfg
    from numba.core.untyped_passes import InlineClosureLikes

    inline, process = InlineClosureLikes.run_pass, PostProcessor.run

    def run_pass(self: Any, state: Any) -> bool:
        return not _ours(state.func_id) and bool(inline(self, state))

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code = self.func_ir
        if code.is_generator or not _ours(code.func_id):
            process(self, emit_dels, extend_lifetimes)
            return
        code.blocks = canonicalize_cfg(code.blocks)
        code.variable_lifetime = VariableLifetime(code.blocks)  # which looks when it is asked
        code.generator_info = None
        if emit_dels:
            self._insert_var_dels(extend_lifetimes=extend_lifetimes)

    InlineClosureLikes.run_pass = run_pass
    PostProcessor.run = run


def _ours(function: Any) -> bool:
    return str(function.modname).partition(".")[0] == _PACKAGE
