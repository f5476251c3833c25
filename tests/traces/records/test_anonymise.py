"""No name leaves ``--anonymise``, in whatever file."""

from __future__ import annotations

import gzip
import stat
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Ran, transom
from tests.traces.records.test_slurm_oddities import job
from tests.traces.records.written import text

__all__ = ["transom"]

NAMES = ("alice", "robert", "physics", "chem_lab", "secret", "/home/alice", "n[1-2]", "471108151", "wheel")
_COLUMNS = ("User", "Account", "UID", "Group", "Partition", "QOS")
WHO = {
    1: dict(zip(_COLUMNS, ("alice", "physics", "471108151", "wheel", "batch", "normal"), strict=True)),
    2: dict(zip(_COLUMNS, ("robert", "chem_lab", "471108152", "wheel", "physics-gpu", "robert"), strict=True)),
    3: dict(zip(_COLUMNS, ("alice", "chem_lab", "471108151", "chem_lab", "batch", "x"), strict=True)),
}
MORE = {"JobName": "secret.sh", "WorkDir": "/home/alice/secret", "Comment": "of robert", "Reservation": "alice_12"}
CONF = "NodeName=n[1-4] CPUs=4\nPartitionName=physics-gpu Nodes=n[1-2] QoS=robert\nPartitionName=batch Nodes=n[1-4]\n"


@pytest.fixture
def records(tmp_path: Path) -> Path:
    folder = tmp_path / "alice"
    folder.mkdir()
    rows = [job(number, **who, **MORE) for number, who in WHO.items()]
    rows.append(job(4, **(WHO[1] | {"Submit": "alice"}), **MORE))
    rows.append(job(5, **(WHO[1] | {"JobID": "alice_5", "State": "secret"}), **MORE))  # columns of another record
    (folder / "sacct.txt").write_text(text(rows, list(rows[0])))
    (folder / "slurm.conf").write_text(CONF + "SwitchName=robert Nodes=n[1-4]\n")
    return folder / "sacct.txt"


def texts(path: Path) -> str:
    """Everything that a file says, unpacked."""
    if path.suffix == ".parquet":
        told = str(pl.read_parquet_metadata(path))
        return told + pl.read_parquet(path).write_json() + path.read_bytes().decode("latin-1")
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


@pytest.mark.parametrize("name", ["site.parquet", "site.swf", "site.swf.gz"])
def test_no_name_is_in_any_output(name: str, records: Path, transom: Callable[..., Ran], tmp_path: Path) -> None:
    words = ("import", "slurm", records, "--conf", records.parent / "slurm.conf", "-o", tmp_path / "out" / name)
    words = (*words, "--bad", 0.5)
    open_ = transom(*words, "--json")
    assert any(each in texts(tmp_path / "out" / name) for each in NAMES)
    hidden = transom(*words, "--anonymise", "--json")
    assert (open_.status, hidden.status) == (0, 0)
    assert [each for each in NAMES if each in texts(tmp_path / "out" / name)] == []
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
    told = hidden.lines[0]
    assert [each for each in NAMES if each in str({**told, "trace": ""})] == []
    assert (told["jobs"], told["machine"], told["partitions"]["batch"]["nodes"]) == (4, {"nodes": 4, "cores": 16}, 4)
    assert told["repairs"]["names of a partition that contain another name, hashed"] == 1


def test_a_replay_of_it_holds_no_name(records: Path, transom: Callable[..., Ran], tmp_path: Path) -> None:
    trace = tmp_path / "site.parquet"
    transom("import", "slurm", records, "--anonymise", "--bad", 0.5, "-o", trace)
    assert transom("simulate", trace, "--policy", "fcfs-easy", "--no-figures", "--out", tmp_path / "runs").status == 0
    files = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert files
    assert [each for path in files for each in NAMES if each in texts(path).replace(str(tmp_path), "")] == []


@pytest.mark.parametrize("text", ["JobIDRaw|Submit\n1|alice\n", "alice;robert\n"])
def test_an_error_says_no_name(text: str, transom: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "in").write_text(text)
    words = ("import", "slurm", tmp_path / "in", "-o", tmp_path / "x.parquet")
    assert "alice" in transom(*words).err
    hidden = transom(*words, "--anonymise")
    assert (hidden.status, f"{tmp_path}/in: line " in hidden.err, "alice" in hidden.err) == (2, True, False)


def test_the_same_key_gives_the_same_hashes(records: Path, transom: Callable[..., Ran], tmp_path: Path) -> None:
    key, found = tmp_path / "keys" / "site.key", []
    for number, words in enumerate([("--key", key), ("--key", key), ()]):
        trace = tmp_path / f"{number}.parquet"
        assert transom("import", "slurm", records, "--anonymise", "--bad", 0.5, *words, "-o", trace).status == 0
        found.append(pl.read_parquet(trace).sort("id"))
    assert found[0].equals(found[1])
    users = found[0]["user_name"].to_list()
    assert (users[0] == users[2], users[0] == users[1]) == (True, False)
    assert found[0]["user"].to_list() == [1, 2, 1, 1]
    assert set(users).isdisjoint(found[2]["user_name"])
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.write_text("short")
    ran = transom("import", "slurm", records, "--anonymise", "--key", key, "-o", tmp_path / "x.parquet")
    assert (ran.status, "a key has 16 bytes or more, got 5" in ran.err) == (2, True)
