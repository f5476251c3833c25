"""``topology.yaml`` of Slurm, with the line of everything in it."""

from __future__ import annotations

from typing import Any

from transom.errors import SpecError, TraceError
from transom.traces.records.slurm_text.switches import Switch, block_size, damaged, grouped, named

Fields = dict[str, Any]
"""The fields of a mapping, as nodes of the document."""


def entries_of_yaml(path: str, text: str, topology: str | None) -> list[Switch]:
    """The switches of one topology of a file.

    Parameters
    ----------
    topology : its name; None for the first with ``cluster_default``, else the first.

    Raises
    ------
    TraceError : the file is no topology.yaml, or there is no such topology.
    SpecError : PyYAML is missing.
    """
    try:
        import yaml
    except ImportError:
        raise SpecError(f"{path}: topology.yaml needs PyYAML: pip install 'transom[yaml]'") from None
    try:
        document = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        damaged(path, 1 if mark is None else mark.line + 1, f"is no YAML: {error.problem}")
    except (yaml.YAMLError, RecursionError) as error:
        raise TraceError(f"{path}: is no YAML: {str(error).splitlines()[0]}") from None
    listed = [] if document is None else [_fields(path, each) for each in _list(path, document, "topologies")]
    if not listed:
        raise TraceError(f"{path}: describes no topology")
    names = [_text(path, _stated(path, fields, "topology")) for fields in listed]
    if topology is None:
        default = (i for i, fields in enumerate(listed) if _text(path, fields.get("cluster_default")).lower() == "true")
        chosen = next(default, 0)
    elif topology in names:
        chosen = names.index(topology)
    else:
        raise TraceError(f"{path}: there is no topology {topology!r}; there are {', '.join(names)}")
    return _entries(path, listed[chosen], names[chosen])


def _entries(path: str, fields: Fields, name: str) -> list[Switch]:
    line = _line(fields["topology"])
    if "tree" in fields:
        switches = _list(path, _stated(path, _fields(path, fields["tree"]), "switches"), "switches")
        return [_entry(path, each, "switch") for each in switches]
    if "block" not in fields:
        damaged(path, line, f"topology {name} is neither a tree nor of blocks")
    inside = _fields(path, fields["block"])
    blocks = [_entry(path, each, "block") for each in _list(path, _stated(path, inside, "blocks"), "blocks")]
    sizes = inside.get("block_sizes")
    stated = (
        []
        if sizes is None
        else [block_size(path, _line(each), _text(path, each)) for each in _list(path, sizes, "block_sizes")]
    )
    return grouped(path, blocks, stated, line if sizes is None else _line(sizes))


def _entry(path: str, node: Any, kind: str) -> Switch:
    fields, line = _fields(path, node), _line(node)
    nodes, below = (named(path, line, _text(path, fields.get(key))) for key in ("nodes", "children"))
    return Switch(_text(path, _stated(path, fields, kind)), nodes, below, line)


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _fields(path: str, node: Any) -> Fields:
    if node.id != "mapping":
        damaged(path, _line(node), "expected names with values")
    fields = {}
    for key, value in node.value:
        name = _text(path, key)
        if name in fields:
            damaged(path, _line(key), f"{name!r} is stated twice")
        fields[name] = value
    return fields


def _list(path: str, node: Any, what: str) -> list[Any]:
    if node.id != "sequence":
        damaged(path, _line(node), f"expected a list of {what}")
    return list(node.value)


def _stated(path: str, fields: Fields, name: str) -> Any:
    if name not in fields:
        first = next(iter(fields.values()), None)
        damaged(path, 1 if first is None else _line(first), f"{name!r} is missing")
    return fields[name]


def _text(path: str, node: Any) -> str:
    if node is None:
        return ""
    if node.id != "scalar":
        damaged(path, _line(node), "expected a text")
    return str(node.value)
