"""The bundled site: its records are those of a machine, and its stated waits are those of its records."""

from __future__ import annotations

import csv
import gzip
import tomllib
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.synthetic_site import write_site
from transom.traces.records.hostlist import hosts
from transom.traces.records.slurm_text.reservations import read_reservations

FILES = ("reservations.txt", "sacct.txt.gz", "slurm.conf", "truth.toml")


@pytest.fixture(scope="module")
def site(root: Path) -> Path:
    return root / "instances" / "site"


def records(site: Path) -> list[dict[str, str]]:
    """The records of jobs, without those of steps."""
    with gzip.open(site / "sacct.txt.gz", "rt") as file:
        return [row for row in csv.DictReader(file, delimiter="|") if row["Partition"]]


def test_records_hold_what_makes_accounting_hard_to_read(site: Path) -> None:
    jobs = records(site)
    assert {job["Partition"] for job in jobs} == {"batch", "gpu", "debug"}
    states = {job["State"].partition(" ")[0] for job in jobs}
    assert states == {"COMPLETED", "TIMEOUT", "FAILED", "CANCELLED", "NODE_FAIL", "RUNNING", "PENDING"}
    assert any(job["JobID"].endswith("_[4-9%4]") for job in jobs)
    assert sum("_" in job["JobID"] for job in jobs) > 500
    assert all(("gres/gpu" in job["ReqTRES"]) == (job["Partition"] == "gpu") for job in jobs)
    with gzip.open(site / "sacct.txt.gz", "rt") as file:
        text = file.read()
    assert text.count(".batch|") == text.count(".extern|") > 8000
    assert sum(path.stat().st_size for path in site.iterdir()) < 300_000
    executions = defaultdict(list)
    for job in jobs:
        executions[job["JobIDRaw"], job["JobID"]].append(job)
    requeued = [each for each in executions.values() if len(each) > 1]
    assert requeued
    assert all((first["State"], first["End"]) == ("NODE_FAIL", again["Submit"]) for first, again in requeued)


def test_no_node_has_two_jobs_or_one_during_maintenance(site: Path) -> None:
    (reservation,) = read_reservations(str(site / "reservations.txt"))
    assert reservation.end - reservation.begin == 2 * 86_400
    assert len(reservation.hosts) == 64
    last = max(int(job["Submit"]) for job in records(site))
    held = {host: [(reservation.begin, reservation.end)] for host in reservation.hosts}
    for job in records(site):
        if job["Start"] != "Unknown":
            end = last + 86_400 if job["End"] == "Unknown" else int(job["End"])
            for host in hosts(job["NodeList"]):
                held[host].append((int(job["Start"]), end))
    for times in held.values():
        times.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(times))


def test_the_stated_waits_of_the_log_are_those_of_the_records(site: Path) -> None:
    logged = tomllib.loads((site / "truth.toml").read_text())["waits"]["logged"]
    waits = defaultdict(list)
    for job in records(site):
        if "Unknown" not in (job["Start"], job["End"]):
            waits[job["Partition"]].append(int(job["Start"]) - int(job["Submit"]))
            waits["all"].append(waits[job["Partition"]][-1])
    for name, wait in waits.items():
        assert logged[name]["jobs"] == len(wait)
        assert logged[name]["mean_wait"] == pytest.approx(sum(wait) / len(wait), abs=0.06)


@pytest.mark.long
def test_the_command_makes_the_files(site: Path, tmp_path: Path) -> None:
    write_site(tmp_path, 1)
    assert {path.name for path in site.iterdir()} == {path.name for path in tmp_path.iterdir()} == set(FILES)
    for name in FILES:
        made, kept = ((folder / name).read_bytes() for folder in (tmp_path, site))
        # Compressed bytes may differ between versions of zlib.
        assert made == kept or gzip.decompress(made) == gzip.decompress(kept), name
