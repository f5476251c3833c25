"""A plain-Python reader of lines in Standard Workload Format, which the compiled one is compared with."""

from __future__ import annotations

import math

NAMES = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip


def plain_lines(data: bytes, whole: list[int], real: list[int]) -> list[tuple[float, ...]] | str:
    """A row for each job line, its number and the fields asked for; or what is wrong with the first bad line."""
    rows: list[tuple[float, ...]] = []
    fields = first = 0
    if not data.strip():
        return "line 1: the file is empty"
    if b"\0" in data:
        return f"line {data[: data.index(0)].count(10) + 1}: a zero byte: this is not a text file"
    lines = data.splitlines()
    for number, line in enumerate(lines, 1):
        tokens = line.split()
        if not tokens or tokens[0].startswith(b";"):
            continue
        fields = fields or max(18, len(tokens))
        if len(tokens) != fields:
            like = f" as line {first} has" if fields > 18 else ""
            return f"line {number}: expected {fields} fields{like}, got {len(tokens)}"
        first = number if not rows else first
        values = []
        for i, token in enumerate(tokens, 1):
            if i <= 18 or i in whole or i in real:
                problem, value = plain_number(token, i in whole)
                if problem:
                    text = token.decode("latin-1")
                    shown = repr(text if len(text) <= 30 else text[:30] + "...")
                    name = NAMES[i - 1] if i <= 18 else f"column{i}"
                    return f"line {number}: field {i} ({name}) {problem}, got {shown}"
                values.append(value)
            else:
                values.append(math.nan)
        rows.append((number, *(values[i - 1] for i in whole), *(float(values[i - 1]) for i in real)))
    return rows or f"line {len(lines)}: the file ends without any job"


def plain_number(token: bytes, whole: bool) -> tuple[str, float]:
    """What is wrong with a number, and the number."""
    if b"_" in token:
        return "must be a number", 0
    try:
        exact = int(token)
        if -(2**63) <= exact < 2**63:
            return "", exact
    except ValueError:
        pass
    try:
        value = float(token)
    except ValueError:
        return "must be a number", 0
    if math.isnan(value) or (math.isinf(value) and not token.strip(b"+-")[:1].isdigit()):
        return "must be finite", 0
    if abs(value) >= 2.0**63:
        return "does not fit into 63 bits", 0
    if whole and value != math.floor(value):
        return "must be a whole number", 0
    return "", int(value) if whole else value
