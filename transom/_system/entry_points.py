"""Machine code for compiled functions, made when Python, or compiled code that has an address, calls them.

The compiler makes machine code of every function, and ways into it from Python and by address. Most of ours are called
by other kernels only, whose code they go into: they are kept as the compiler's intermediate code, and the rest is made
when somebody asks for it.
"""

from __future__ import annotations

import copy
from functools import cache, partial
from typing import Any, NamedTuple

from transom._system.linking import Part, optimise


def without_code(result: Any) -> Any:
    """What the compiler made of a function, optimised, and ready to go into the code of others."""
    optimise(result.library, result.fndesc.llvm_func_name)
    result = result._replace(entry_point=object())  # the compiler knows the function by it
    result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
    return result


def reduced(result: Any) -> tuple[Any, ...]:
    """What the compiler's cache keeps of such a function."""
    result.fndesc.typemap = result.fndesc.calltypes = None
    whole, part = result.library._get_module_for_linking(), result.library.part
    shared = part.code is None or part.code is whole
    return (
        result.library.name,
        whole.as_bitcode(),
        None if shared else part.code.as_bitcode(),
        part.declaration,
        result.fndesc,
        result.environment,
        result.signature,
        result.reload_init,
        tuple(result._find_referenced_environments()),
    )


def rebuilt(context: Any, kept: tuple[Any, ...]) -> Any:
    """The function that the cache kept."""
    from numba.core.codegen import ll
    from numba.core.compiler import CompileResult

    name, whole, part, declaration, description, environment, signature, reload_init, environments = kept
    for reload in reload_init:
        reload()
    library = context.codegen().create_library(name)
    library._final_module = library._shared_module = ll.parse_bitcode(whole)
    library._finalized = True
    code = ll.parse_bitcode(part) if part else None if declaration else library._shared_module
    library.part = Part(code, description.llvm_func_name, declaration)
    return CompileResult(
        typing_context=context.typing_context,
        target_context=context,
        entry_point=object(),
        typing_error=None,
        type_annotation="",
        signature=signature,
        objectmode=False,
        lifted=(),
        fndesc=description,
        library=library,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=environments,
    )


def with_entry(result: Any, kept: Any, counted: bool) -> Any:
    """A result of the compiler that Python can call.

    Parameters
    ----------
    result : of a function without code.
    kept : the compiler's cache for it.
    counted : whether references to its arrays are counted.
    """
    from numba.core.environment import Environment

    entry = kept.load_overload(result.signature, result.target_context)
    if entry is None:
        context, description = result.target_context.subtarget(enable_nrt=counted), copy.copy(result.fndesc)
        context.get_python_api = partial(_without_python(), context)
        description.env_name += ".entry"  # for constants of its own, which are kept with it
        environment = Environment.from_fndesc(description)
        entry = result._replace(
            library=_around(result, context, description, environment, "create_cpython_wrapper"),
            fndesc=description,
            environment=environment,
        )
        entry = entry._replace(entry_point=context.get_executable(entry.library, description, environment))
        kept.save_overload(result.signature, entry)
    return entry


class _Constant(NamedTuple):
    """An object that a way in names."""

    value: Any


@cache
def _without_python() -> Any:
    """What makes ways in that run no Python code between the call and the result.

    The compiler's own asks a function in Python for the class of every array that it returns. Ctrl-C during a kernel
    is raised in the first line of Python after it: there, where nobody looks for an exception. The class is a
    constant of the way in here.
    """
    from numba.core.pythonapi import PythonAPI

    class WithoutPython(PythonAPI):
        _constants: Any = None

        def get_env_manager(self, *given: Any) -> Any:
            self._constants = super().get_env_manager(*given)
            return self._constants

        def serialize_object(self, value: Any) -> Any:
            return super().serialize_object(value) if self._constants is None else _Constant(value)

        def unserialize(self, given: Any) -> Any:
            if not isinstance(given, _Constant):
                return super().unserialize(given)
            found = self._constants.read_const(self._constants.add_const(given.value))
            self.incref(found)  # the caller owns what it gets
            return found

    return WithoutPython


def with_address(result: Any) -> Any:
    """The result of the compiler for a function that has an address which other compiled code may call."""
    context = result.target_context
    library = _around(result, context, result.fndesc, result.environment, "create_cfunc_wrapper")
    return result._replace(library=library)


def _around(result: Any, context: Any, description: Any, environment: Any, create: str) -> Any:
    """A library with the machine code of a function and a way into it."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.environment import lookup_environment
    from numba.core.runtime import rtsys

    context.refresh()  # a kept kernel was loaded without what the compiler knows of types
    library = context.codegen().create_library(f"entry {description.unique_name}")
    library.enable_object_caching()

    def take_in(module: Any) -> None:
        module.data_layout = library.codegen._data_layout

    def optimise_way_in() -> None:
        # Once, and lightly: it is straight, and calls functions of Python.
        passes, builder = library.codegen._module_pass_manager(opt=2, loop_vectorize=False, slp_vectorize=False)
        passes.run(library._final_module, builder)
        way_in = {each.name for each in library._final_module.functions if not each.is_declaration}
        library._shared_module = library._final_module.clone()
        library._final_module.link_in(result.library._get_module_for_linking(), preserve=True)
        for function in library._final_module.functions:
            if not function.is_declaration and function.name not in way_in:
                function.linkage = "internal"

    library._optimize_functions, library._optimize_final_module = take_in, optimise_way_in
    with global_compiler_lock:
        with context.push_code_library(library):
            getattr(context, create)(library, description, environment, None)
        library.add_linking_library(rtsys.library)
        library.finalize()
        for each in library._final_module.global_variables:
            if each.name.startswith("_ZN08NumbaEnv") and (found := lookup_environment(each.name)) is not None:
                library.codegen.set_env(each.name, found)
    return library
