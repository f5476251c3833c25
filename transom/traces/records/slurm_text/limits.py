"""Associations and QOS of a Slurm, as ``sacctmgr --parsable2 show assoc`` and ``show qos`` print them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from transom.errors import TraceError
from transom.traces.job_facts import AMOUNTS
from transom.traces.records.values import amount, count
from transom.traces.swf_blocks import blocks

UNSET = -1
"""A limit that is not set."""

Amounts = tuple[int, ...]
"""A limit for each of :data:`~transom.traces.job_facts.AMOUNTS`, :data:`UNSET` where there is none."""

NONE: Amounts = (UNSET,) * len(AMOUNTS)
"""No limit at all."""

_ROOT = "root"


class Association(NamedTuple):
    """An account, or a user of an account, in one partition or all.

    Parameters
    ----------
    account, user, partition : whose limits these are; ``user`` is empty for an account, ``partition`` for all.
    parent : the account above, of accounts; empty for the root.
    group : what all running jobs below it may have (``GrpJobs``, ``GrpTRES``).
    jobs : running jobs of each user below it (``MaxJobs``).
    per_job : what one job may have (``MaxTRES``).
    share : of the machine, beside those of its siblings (``Share``).
    """

    account: str
    user: str = ""
    partition: str = ""
    parent: str = ""
    group: Amounts = NONE
    jobs: int = UNSET
    per_job: Amounts = NONE
    share: int = 1


class Qos(NamedTuple):
    """A quality of service.

    Parameters
    ----------
    name : what it is called.
    group : what all its running jobs may have (``GrpJobs``, ``GrpTRES``).
    user, account : what those of each user and account may have (``MaxJobsPU``, ``MaxTRESPU``, ``MaxJobsPA``,
        ``MaxTRESPA``).
    per_job : what one job may have (``MaxTRES``).
    priority : its priority, beside those of others (``Priority``).
    """

    name: str
    group: Amounts = NONE
    user: Amounts = NONE
    account: Amounts = NONE
    per_job: Amounts = NONE
    priority: int = 0


Key = tuple[str, str, str]
"""Account, user and partition of an association."""


def read_associations(path: str) -> dict[Key, Association]:
    """The associations of one cluster, by account, user and partition, in lower case.

    The account above one comes from the column ``Par Name`` (``format=...,parentname``) or from the blanks before its
    name (``show assoc tree``). Without either, all accounts stand right below the root.

    Raises
    ------
    TraceError : the file cannot be read, has other columns, is of several clusters, or states a limit that cannot be
        read, an association twice, or an account above that it does not name.
    """
    made: dict[Key, Association] = {}
    cluster, line_of = "", dict[Key, int]()
    above: list[tuple[int, str]] = []  # accounts that are open, with the blanks before their names
    for number, row in _rows(path, ("account", "user")):
        if (here := row.get("cluster", cluster).strip().lower()) != cluster and made:
            raise _broken(path, number, f"is of cluster {here!r}, those before of {cluster!r}: print one of them")
        cluster = here
        depth = len(row["account"]) - len(row["account"].lstrip())
        account, user, partition = (row.get(name, "").strip().lower() for name in ("account", "user", "partition"))
        parent = ""
        if not user and account != _ROOT:
            above = [each for each in above if each[0] < depth]
            stated = row.get("parname", row.get("parentname", "")).strip().lower()
            parent = stated or (above[-1][1] if above else _ROOT)
        if not user:
            above.append((depth, account))
        key = (account, user, partition)
        if key in made:
            raise _broken(path, number, f"names the association {'/'.join(filter(None, key))} again")
        line_of[key] = number
        made[key] = Association(
            *key,
            parent,
            _limits(path, number, row, "grpjobs", ("grptres",)),
            _limits(path, number, row, "maxjobs", ())[0],
            _limits(path, number, row, "", ("maxtres", "maxtresperjob")),
            _whole(path, number, row, "share", 1),
        )
    for key, each in made.items():
        if each.parent and each.parent != _ROOT and (each.parent, "", "") not in made:
            raise _broken(path, line_of[key], f"is below account {each.parent!r}, which no line names")
        seen = {each.account}
        while (each := made.get((each.parent, "", ""), Association(""))).account:
            if each.account in seen:
                raise _broken(path, line_of[key], f"is below itself, by account {each.account!r}")
            seen.add(each.account)
    return made


def read_qos(path: str) -> dict[str, Qos]:
    """The QOS of a Slurm by name, in lower case.

    Raises
    ------
    TraceError : the file cannot be read, has other columns, or states a limit that cannot be read or a QOS twice.
    """
    made: dict[str, Qos] = {}
    for number, row in _rows(path, ("name",)):
        name = row["name"].strip().lower()
        if name in made:
            raise _broken(path, number, f"names the QOS {name!r} again")
        made[name] = Qos(
            name,
            _limits(path, number, row, "grpjobs", ("grptres",)),
            _limits(path, number, row, "maxjobspu", ("maxtrespu", "maxtresperuser")),
            _limits(path, number, row, "maxjobspa", ("maxtrespa", "maxtresperaccount")),
            _limits(path, number, row, "", ("maxtres", "maxtresperjob")),
            _whole(path, number, row, "priority", 0),
        )
    return made


def chain(associations: Mapping[Key, Association], key: Key) -> list[Association]:
    """The association of a user, in its partition or in all, and the accounts above it up to the root."""
    account, user, _ = key
    of_user = next((associations[each] for each in (key, (account, user, "")) if user and each in associations), None)
    found = [] if of_user is None else [of_user]
    at = associations.get((account, "", ""))
    while at is not None:
        found.append(at)
        at = associations.get((at.parent, "", "")) if at.parent else None
    return found


def _rows(path: str, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """The lines below the header, by number, as texts by heading in lower case without blanks."""
    text = b"".join(bytes(block) for _, block in blocks(path)).decode("utf-8", "replace")
    names: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        cells = line.split("|")
        if names is None:
            names = [cell.strip().lower().replace(" ", "") for cell in cells]
            absent = [name for name in needed if name not in names]
            if absent:
                raise _broken(path, number, f"has no column {absent[0].capitalize()}: expected sacctmgr --parsable2")
            continue
        if len(cells) != len(names):
            raise _broken(path, number, f"has {len(cells)} fields, the header {len(names)}")
        yield number, dict(zip(names, cells, strict=True))
    if names is None:
        raise _broken(path, 1, "the file is empty")


def _limits(path: str, number: int, row: Mapping[str, str], jobs: str, tres: tuple[str, ...]) -> Amounts:
    made = dict.fromkeys(AMOUNTS, UNSET)
    if text := row.get(jobs, "").strip():
        if (stated := count(text)) is None or stated < 0:
            raise _broken(path, number, f"{jobs}: {text!r} is no number of jobs")
        made["jobs"] = stated
    for heading in tres:
        for part in filter(None, row.get(heading, "").strip().split(",")):
            name, _, value = part.partition("=")
            name = name.strip().lower()
            if name == "jobs" or name not in made:
                known = ", ".join(AMOUNTS[1:])
                raise _broken(path, number, f"{heading}: no replay counts {name!r}; limits may be of {known}")
            memory = amount(value) if name == "mem" else None
            stated = memory.mebibytes if memory is not None else None if name == "mem" else count(value)
            if stated is None or stated < 0:
                raise _broken(path, number, f"{heading}: {part!r} is no limit")
            made[name] = stated
    return tuple(made.values())


def _whole(path: str, number: int, row: Mapping[str, str], heading: str, default: int) -> int:
    text = row.get(heading, "").strip() or str(default)
    if (stated := count(text)) is None or stated < 0:
        raise _broken(path, number, f"{heading}: {text!r} is no whole number, and other values are not modelled")
    return stated


def _broken(path: str, number: int, what: str) -> TraceError:
    return TraceError(f"{path}: line {number}: {what}")
