"""Accounting logs of PBS Professional, OpenPBS and Torque."""

from transom.traces.records.pbs.logs import read_pbs

__all__ = ["read_pbs"]
