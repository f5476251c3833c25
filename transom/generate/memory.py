"""Memory checks before large allocations."""

from __future__ import annotations

from transom.errors import SpecError

JOB = 250
"""Bytes that a job takes while a workload is generated and written, about."""


def check_memory(what: str, number: int, each: int) -> None:
    """Refuse a size beyond the memory of this machine.

    Parameters
    ----------
    what : what is made, for the message.
    number : how many of them.
    each : bytes that one takes, about.

    Raises
    ------
    SpecError : they take more than the machine has.
    """
    import psutil

    there = psutil.virtual_memory().total
    if number * each > there:
        needed = f"about {printed_size(number * each)} of memory, this machine has {printed_size(there)}"
        raise SpecError(f"{number:,} {what} need {needed}")


def printed_size(number: float) -> str:
    """A number of bytes in readable units."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    power = 0
    while number >= 1024 and power < len(units) - 1:
        number /= 1024
        power += 1
    return f"{number:,.0f} {units[power]}" if power == 0 or number >= 10 else f"{number:.1f} {units[power]}"
