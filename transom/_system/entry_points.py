"""What lets Python call a compiled function, or compiled code call it by its address: made when somebody asks for it.

The compiler makes both with every function. Most of ours are called by other kernels only, and to take an argument of
many arrays out of Python objects is more code than the function itself.
"""

from __future__ import annotations

import copy
from typing import Any


def entry_point(result: Any, kept: Any, counted: bool) -> Any:
    """What Python calls: an object of the compiler for its dispatcher.

    Parameters
    ----------
    result : what the compiler made of a function, without such an entry point.
    kept : the compiler's cache of entry points into it.
    counted : whether references to its arrays are counted.
    """
    from numba.core.lowering import Environment

    entry = kept.load_overload(result.signature, result.target_context)
    if entry is None:
        context, description = result.target_context.subtarget(enable_nrt=counted), copy.copy(result.fndesc)
        description.env_name += ".entry"  # for constants of its own, which are kept with it
        environment = Environment.from_fndesc(description)
        entry = result._replace(
            library=_around(result, context, description, environment, "create_cpython_wrapper"),
            fndesc=description,
            environment=environment,
        )
        entry = entry._replace(entry_point=context.get_executable(entry.library, description, environment))
        kept.save_overload(result.signature, entry)
    return entry.entry_point


def with_address(result: Any) -> Any:
    """The result of the compiler for a function that has an address which other compiled code may call."""
    context = result.target_context
    library = _around(result, context, result.fndesc, result.environment, "create_cfunc_wrapper")
    return result._replace(library=library)


def _around(result: Any, context: Any, description: Any, environment: Any, create: str) -> Any:
    """A library of code around a function, of which it knows no more than the name."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.runtime import rtsys

    library = context.codegen().create_library(f"entry {description.unique_name}")
    library.inside = result.library  # must live as long
    library.enable_object_caching()
    with global_compiler_lock:
        with context.push_code_library(library):
            getattr(context, create)(library, description, environment, None)
        library.add_linking_library(rtsys.library)
        library.finalize()
    return library
