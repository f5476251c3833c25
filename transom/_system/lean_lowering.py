"""What the compiler writes for LLVM, written with less: a third of the instructions, for the same machine code.

The compiler hands records over field by field. It puts them together at the start of a function, keeps them in memory,
and takes them apart again for every access and every call; so it does with arrays. LLVM finds out that all of this
comes to nothing, after the compiler has written it down and LLVM has read it. Here

- what is taken out of a record is what was put into it;
- a variable that is assigned once stays out of memory where the assignment comes before all uses;
- an argument belongs to the caller: no references are counted for it, nor for what holds none;
- an array stays out of memory unless somebody changes it;
- what nobody uses of a record is dropped before LLVM reads it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from typing import Any


@cache
def write_less() -> None:
    """Let the compiler write less in this process."""
    _take_out_what_was_put_in()
    _drop_unused_parts()
    _look_for_references_where_there_are_any()
    _keep_variables_out_of_memory()
    _keep_arrays_out_of_memory()


def _take_out_what_was_put_in() -> None:
    from llvmlite.ir import IRBuilder
    from llvmlite.ir.instructions import ExtractValue, InsertValue

    extract = IRBuilder.extract_value

    def extract_value(builder: Any, whole: Any, place: Any, name: str = "") -> Any:
        path = tuple(place) if isinstance(place, list | tuple) else (place,)
        while True:
            if type(whole) is ExtractValue:
                whole, path = whole.operands[0], (*whole.indices, *path)
            elif type(whole) is not InsertValue:
                break
            elif (put := tuple(whole.indices)) == path[: len(put)]:
                whole, path = whole.operands[1], path[len(put) :]
                if not path:
                    return whole
            elif put[: len(path)] == path:  # something was put into a part of what is taken out
                break
            else:
                whole = whole.operands[0]
        block = builder.block
        if builder._anchor < len(block.instructions):  # what is known of the block may come later
            return extract(builder, whole, path, name)
        known = block.__dict__.setdefault("_taken_out", {})
        if (id(whole), path) not in known:
            known[id(whole), path] = extract(builder, whole, path, name)
        return known[id(whole), path]

    IRBuilder.extract_value = extract_value


def _drop_unused_parts() -> None:
    from llvmlite.ir.instructions import ExtractValue, InsertValue
    from numba.core.codegen import CPUCodeLibrary

    add, parts = CPUCodeLibrary.add_ir_module, (ExtractValue, InsertValue)

    def add_ir_module(library: Any, module: Any) -> None:
        for function in module.functions:
            drop(function)
        add(library, module)

    def drop(function: Any) -> None:
        used: Counter[int] = Counter()
        written = [each for block in function.blocks for each in block.instructions]
        for each in written:
            operands = [value for value, _ in each.incomings] if hasattr(each, "incomings") else each.operands
            used.update(id(value) for value in operands if type(value) in parts)
        unused = [each for each in written if type(each) in parts and not used[id(each)]]
        dropped = set()
        while unused:
            each = unused.pop()
            dropped.add(id(each))
            for value in each.operands:
                if type(value) in parts:
                    used[id(value)] -= 1
                    if not used[id(value)]:
                        unused.append(value)
        if dropped:
            for block in function.blocks:
                block.instructions[:] = [each for each in block.instructions if id(each) not in dropped]

    CPUCodeLibrary.add_ir_module = add_ir_module


def _look_for_references_where_there_are_any() -> None:
    from numba.core.runtime.context import NRTContext

    find = NRTContext.get_meminfos

    def get_meminfos(nrt: Any, builder: Any, kind: Any, value: Any) -> Any:
        return find(nrt, builder, kind, value) if _is_counted(nrt._context, kind) else []

    NRTContext.get_meminfos = get_meminfos


_counted: dict[int, bool] = {}


def _is_counted(context: Any, kind: Any) -> bool:
    """Whether values of a type hold references."""
    if not context.enable_nrt:
        return False
    if kind._code not in _counted:  # equal types have one number, which a record hashes to slowly
        _counted[kind._code] = context.data_model_manager[kind].contains_nrt_meminfo()
    return _counted[kind._code]


def _keep_variables_out_of_memory() -> None:
    from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs, must_use_alloca
    from numba.core.ir import Arg, Assign
    from numba.core.lowering import Lower

    find_within_blocks = Lower._find_singly_assigned_variable
    assign, store, load, delete = Lower.lower_assign, Lower.storevar, Lower.loadvar, Lower.delvar

    def find(lower: Any) -> None:
        lower._borrowed, lower._owned, function = set(), {}, lower.func_ir.func_id
        # All of these look for variables in memory.
        lower._stores_all = function.is_generator or lower.flags.auto_parallel.enabled or lower._disable_sroa_like_opt
        if lower._stores_all:
            find_within_blocks(lower)
            return
        lower._singly_assigned_vars, lower._blk_local_varmap = set(), {}
        homes, uses = defaultdict(list), defaultdict(set)
        for home, block in lower.blocks.items():
            for each in block.find_insts(Assign):
                homes[each.target.name].append((home, each.value))
        for block, names in compute_use_defs(lower.blocks).usemap.items():  # before they are assigned in the block
            for name in names:
                uses[name].add(block)
        ahead, in_memory = compute_cfg_from_blocks(lower.blocks).dominators(), must_use_alloca(lower.blocks)
        for name, places in homes.items():
            if len(places) > 1 or name in in_memory:
                continue
            ((home, value),) = places
            if any(home >= block or home not in ahead[block] for block in uses[name]):
                continue
            if isinstance(value, Arg):
                lower._borrowed.add(name)
            elif uses[name] and _is_counted(lower.context, lower.typeof(name)):
                lower._owned[name] = None
                continue
            lower._singly_assigned_vars.add(name)

    def lower_assign(lower: Any, kind: Any, instruction: Any) -> Any:
        if instruction.target.name not in lower._borrowed:
            return assign(lower, kind, instruction)
        lower.incref = lambda *_: None
        try:
            return assign(lower, kind, instruction)
        finally:
            del lower.incref

    def nothing_to_count(lower: Any, name: str) -> bool:
        return not (lower._stores_all or _is_counted(lower.context, lower.typeof(name)))

    def storevar(lower: Any, value: Any, name: str, argidx: Any = None) -> None:
        if name not in lower._singly_assigned_vars and nothing_to_count(lower, name):
            lower.builder.store(value, lower.getvar(name))
            return
        store(lower, value, name, argidx)
        if name in lower._owned:
            lower._owned[name] = value

    def loadvar(lower: Any, name: str) -> Any:
        found = lower._owned.get(name)
        return load(lower, name) if found is None else found

    def delvar(lower: Any, name: str) -> None:
        if name not in lower._borrowed and not nothing_to_count(lower, name):
            delete(lower, name)

    Lower._find_singly_assigned_variable = find
    Lower.lower_assign, Lower.storevar, Lower.loadvar, Lower.delvar = lower_assign, storevar, loadvar, delvar


def _keep_arrays_out_of_memory() -> None:
    from numba.np import arrayobj

    make = arrayobj.make_array

    @cache
    def make_array(kind: Any) -> Any:
        stored = make(kind)
        return type("Array", (_Unstored, stored), {}) if kind.as_array is kind else stored

    arrayobj.make_array = make_array


class _Unstored:
    """What the compiler handles an array by: it is stored when somebody changes it or asks where it lies, not before.

    Mixed into the compiler's own, which stores it at once.
    """

    _whole: Any = None  # the array, until it is stored

    def __init__(self, context: Any, builder: Any, value: Any = None, ref: Any = None) -> None:
        if value is None or ref is not None:
            above: Any = super()
            above.__init__(context, builder, value, ref)
            return
        self._context, self._builder, self._whole = context, builder, value
        self._datamodel = context.data_model_manager[self._fe_type]
        self._be_type = self._get_be_type(self._datamodel)
        self._block, self._before = builder.block, builder.block.instructions[-1:]

    def __getattr__(self, field: str) -> Any:
        if field in ("_value", "_outer_ref") and self._whole is not None:
            return self._store()
        above: Any = super()
        return above.__getattr__(field)

    def _store(self) -> Any:
        from numba.core.cgutils import alloca_once

        self._value = self._outer_ref = alloca_once(self._builder, self._be_type)
        with self._builder.goto_block(self._block):
            made = self._builder.store(self._whole, self._value)
        # Where it was handed over: whoever changes it may do so in a branch.
        written = self._block.instructions
        written.remove(made)
        written.insert(written.index(self._before[0]) + 1 if self._before else 0, made)
        self._whole = None
        return self._value

    def __getitem__(self, index: int) -> Any:
        if self._whole is not None:
            return self._builder.extract_value(self._whole, index)
        above: Any = super()
        return above.__getitem__(index)

    def _getvalue(self) -> Any:
        above: Any = super()
        return above._getvalue() if self._whole is None else self._whole

    @property
    def shape(self) -> Any:
        above: Any = super()
        return above.shape if self._whole is None else self[self._datamodel.get_field_position("shape")]
