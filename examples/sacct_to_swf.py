"""Turn the accounting data of Slurm into the Standard Workload Format.

Run it: python examples/sacct_to_swf.py [SACCT.txt OUT.swf NODES]

SACCT.txt is what this command prints (the first line, the header, is needed):

    SLURM_TIME_FORMAT=%s sacct --allusers --allocations --parsable2 --starttime 2026-01-01 --endtime 2026-07-01 \
        --format=JobIDRaw,Submit,Start,End,AllocNodes,ReqNodes,TimelimitRaw,UID,GID,Partition,State > SACCT.txt

NODES is the size of the machine. Where jobs share nodes, ask for AllocCPUS and ReqCPUS in place of AllocNodes and
ReqNodes, and state the number of cores.
"""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path

NEEDED = ("JobIDRaw", "Submit", "Start", "End", "TimelimitRaw", "UID", "GID", "Partition", "State")
STATUS = {"COMPLETED": 1, "CANCELLED": 5}  # every other end is a failure: 0


def whole(text: str) -> int:
    """A number of a column; -1, the format's word for unknown, where it states none (UNLIMITED, Unknown, None)."""
    return int(text) if text.isdecimal() else -1


def swf_line(row: dict[str, str], partitions: dict[str, int]) -> str | None:
    """The 18 fields of one job; None for a job that never started or has not ended."""
    submit, start, end = whole(row["Submit"]), whole(row["Start"]), whole(row["End"])
    if min(submit, start, end) < 0:
        return None
    limit = whole(row["TimelimitRaw"])  # minutes
    allocated, requested = (whole(row.get(f"{kind}Nodes") or row.get(f"{kind}CPUS", "")) for kind in ("Alloc", "Req"))
    status = STATUS.get(row["State"].partition(" ")[0], 0)  # "CANCELLED by 1000"
    partition = partitions.setdefault(row["Partition"], len(partitions) + 1)
    fields = [whole(row["JobIDRaw"]), submit, start - submit, end - start, allocated, -1, -1, requested]
    fields += [limit * 60 if limit > 0 else -1, -1, status, whole(row["UID"]), whole(row["GID"]), -1, -1, partition]
    return " ".join(map(str, [*fields, -1, -1]))


def convert(source: Path, target: Path, nodes: int) -> tuple[int, int]:
    """Write a trace in the order of submission; the number of jobs in it, and of those left out."""
    partitions: dict[str, int] = {}
    with source.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file, delimiter="|")
        for name in NEEDED:
            if name not in (reader.fieldnames or ()):
                sys.exit(f"{source}: the header has no {name}; ask sacct for it with --format")
        rows = sorted(reader, key=lambda row: (whole(row["Submit"]), whole(row["JobIDRaw"])))
    lines = [line for row in rows if (line := swf_line(row, partitions)) is not None]
    header = [f"; MaxNodes: {nodes}", *(f"; Partition: {number} {name}" for name, number in partitions.items())]
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(target.name + ".part")
    unfinished.write_text("\n".join([*header, *lines, ""]), encoding="utf-8")
    os.replace(unfinished, target)
    return len(lines), len(rows) - len(lines)


if __name__ == "__main__":
    source, target, nodes = sys.argv[1:] or ("examples/sacct.txt", "out/sacct.swf", "16")
    kept, left_out = convert(Path(source), Path(target), int(nodes))
    print(f"{target}: {kept} jobs; {left_out} without a start or an end are left out")
