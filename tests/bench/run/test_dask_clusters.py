"""Clusters by name: addresses, protection, the scripts of batch jobs; and runs on each kind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.dask_processes import scheduler, worker
from tests.bench.faulty import faulty_solvers, task
from transom.bench.plan.task import Row
from transom.bench.run.dask_cluster import Cluster, Jobs, lifetime, parse_cluster
from transom.bench.run.dask_engine import DaskEngine, dask_map
from transom.bench.run.dask_security import Certificates
from transom.bench.run.engine import EngineError
from transom.errors import DocumentError, SpecError, TransomError

pytest.importorskip("distributed")

__all__ = ["faulty_solvers"]


def test_a_scheduler_that_runs_already(faulty_solvers: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows: list[Row] = []
    with scheduler("--host", "127.0.0.1") as (process, address):
        cluster = parse_cluster(f"dask:{address}", 1)
        with worker(address):
            found = DaskEngine(cluster).run(iter(task("steady", seed=seed) for seed in range(10_000)))
            rows.extend(next(found) for _ in range(3))
            process.kill()
            with pytest.raises(EngineError, match="connection to the scheduler was lost"):
                rows.extend(found)
    assert len(rows) < 10_000
    assert {row.outcome for row in rows} == {"ok"}
    assert capfd.readouterr() == ("", "")


def test_no_worker_is_an_error_in_the_end() -> None:
    with scheduler("--host", "127.0.0.1") as (_, address):
        cluster = Cluster("dask", address=address, patience=1.0)
        with pytest.raises(EngineError, match="no worker for 1 s"):
            list(DaskEngine(cluster).run(iter([task("greedy")])))


def test_no_scheduler_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.bench.run.dask_cluster.CONNECT", 1.0)
    with pytest.raises(EngineError, match=r"tcp://127.0.0.1:9: "):
        list(DaskEngine(Cluster("dask", address="tcp://127.0.0.1:9")).run(iter([task("greedy")])))


def test_a_cluster_of_our_own(faulty_solvers: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tasks = [*(task("steady", seed=seed) for seed in range(5)), task("faulty:how=kill-parent")]
    seen = list(DaskEngine(Cluster("dask", 2)).run(iter(tasks)))
    assert sorted(row.outcome for row in seen) == ["crash", *["ok"] * 5]
    assert set(dask_map(Cluster("dask", 1), _shard, [1, 2, 3])) == {b"1", b"2", b"3"}
    assert capfd.readouterr() == ("", "")


def _shard(number: int) -> bytes:
    return str(number).encode()


def test_other_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.bench.run.dask_engine.source_digest", lambda: "0123456789abcdef")
    with pytest.raises(EngineError, match=r"other code of Transom .*here 0123456789abcdef"):
        list(DaskEngine(Cluster("dask", 1)).run(iter([task("greedy")])))


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    """An authority and one certificate that it signed."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is absent")
    ca, key, cert, request = (tmp_path / name for name in ("ca.pem", "key.pem", "cert.pem", "request.pem"))
    ca_key = tmp_path / "ca-key.pem"
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-batch"]
    sign = ["openssl", "x509", "-req", "-days", "2"]
    for command in (
        [*new, "-x509", "-days", "2", "-subj", "/CN=ca", "-keyout", ca_key, "-out", ca],
        [*new, "-subj", "/CN=bench", "-keyout", key, "-out", request],
        [*sign, "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-out", cert],
    ):
        subprocess.run(command, check=True, capture_output=True)
    return Certificates(ca, cert, key)


def test_tls(certificates: Certificates, faulty_solvers: Path) -> None:
    files = ["--tls-ca-file", str(certificates.ca), "--tls-cert", str(certificates.cert), "--tls-key"]
    files.append(str(certificates.key))
    with scheduler("--protocol", "tls", *files) as (_, address):
        assert address.startswith("tls://")
        cluster = parse_cluster(f"dask:{address}", 1, certificates)
        with worker(address, *files):
            rows = list(DaskEngine(cluster).run(iter([task("steady")])))
    assert [row.outcome for row in rows] == ["ok"]


@pytest.mark.parametrize(
    ("on", "words"),
    [
        ("dsk", "did you mean 'dask'"),
        ("dask:", "no address"),
        ("dask:localhost", "no address"),
        ("dask:http://localhost:80", "no address"),
        ("dask:tcp://localhost:port", "no address"),
        ("dask:tcp://192.0.2.7:8786", "unprotected.*--insecure"),
        ("dask:tcp://no.such.host.invalid:8786", "no such host"),
        ("dask:tls://127.0.0.1:8786", "--tls-ca"),
        ("slurm", "expected NAME or|cores"),
        ("slurm:cores=4", "memory"),
        ("slurm:cores=four,memory=1GB", "cores"),
        ("slurm:cores=4,memory=1GB,core=3", "unknown field `core`"),
        ("slurm:cores=4,memory=1GB,jobs=2,maximum=3", "either jobs or"),
        ("slurm:cores=4,memory=1GB,minimum=3", "minimum must be"),
        ("slurm:cores=4,memory=1GB,threads=8", "8 threads does not fit on 4 cores"),
        ("slurm:nowhere.toml", "nowhere.toml: cannot be read"),
    ],
)
def test_what_does_not_fit_is_one_line(on: str, words: str) -> None:
    with pytest.raises(TransomError, match=words) as error:
        parse_cluster(on, 1)
    assert "\n" not in str(error.value)
    assert isinstance(error.value, SpecError | DocumentError)


def test_unprotected_ways_have_to_be_accepted() -> None:
    there = parse_cluster("dask:tcp://192.0.2.7:8786", 1, insecure=True)
    assert (there.address, there.insecure) == ("tcp://192.0.2.7:8786", True)
    assert parse_cluster("dask:tcp://localhost:8786", 1).address == "tcp://localhost:8786"
    with pytest.raises(SpecError, match="cannot be read"):
        parse_cluster("dask:tls://127.0.0.1:1", 1, Certificates(Path("a"), Path("b"), Path("c")))


@pytest.mark.parametrize(
    ("system", "lines"),
    [
        ("slurm", ["#SBATCH -p long", "#SBATCH -A ours", "#SBATCH --cpus-per-task=8", "#SBATCH --mem=15G"]),
        ("pbs", ["#PBS -q long", "#PBS -A ours"]),
        ("sge", ["#$ -q long", "#$ -P ours"]),
        ("lsf", ["#BSUB -q long", '#BSUB -P "ours"', "#BSUB -n 8"]),
    ],
)
def test_scripts_of_jobs(system: str, lines: list[str], tmp_path: Path) -> None:
    """There is no batch system here: what would be handed in is looked at."""
    path = tmp_path / "jobs.toml"
    path.write_text(
        'cores = 8\nmemory = "16GB"\nthreads = 2\nqueue = "long"\naccount = "ours"\nwalltime = "02:00"\njobs = 3\n'
        'prologue = ["module load python"]\ndirectives = ["--exclusive"]\n'
    )
    cluster = parse_cluster(f"{system}:{path}", 1, insecure=True)
    assert cluster.workers == 12
    with cluster.started() as made:
        script = made.job_script()
    for line in [*lines, "module load python"]:
        assert line in script.splitlines(), script
    assert "--exclusive" in script
    command = script.strip().splitlines()[-1]
    assert command.startswith(sys.executable)
    assert "--nworkers 4" in command
    assert command.rindex("--nthreads 1 ") > command.index("--nthreads 2")  # the last one counts
    assert "--no-dashboard" in command


FAKE_SBATCH = """#!/bin/sh
# A batch system of one machine: a job starts at once, in the background, from a copy as whoever hands it in removes it.
cp "$1" "{folder}/job$$"
sh "{folder}/job$$" >/dev/null 2>&1 &
echo "$!" >> "{folder}/jobs"
echo "Submitted batch job $!"
"""

FAKE_SCANCEL = """#!/bin/sh
echo "$1" >> "{folder}/cancelled"
pkill -TERM -P "$1"; kill "$1"
"""


def commands(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / name
        path.write_text(text.replace("{folder}", str(folder)))
        path.chmod(0o755)


@pytest.mark.parametrize("insecure", [True, False])
def test_jobs_of_a_batch_system(
    faulty_solvers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, insecure: bool
) -> None:
    """Jobs that are handed in, carry out runs and are cancelled at the end, with commands that stand in for Slurm's.

    Without a word about protection temporary certificates are made for them.
    """
    commands(tmp_path, sbatch=FAKE_SBATCH, scancel=FAKE_SCANCEL)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    cluster = parse_cluster(
        f"slurm:cores=1,memory=1GB,jobs=2,walltime=00:30:00,patience=300,interface=lo,shared_folder={tmp_path}",
        1,
        None,
        insecure,
    )
    rows = list(DaskEngine(cluster).run(iter(task("steady", seed=seed) for seed in range(6))))
    assert [row.outcome for row in rows] == ["ok"] * 6
    assert len({row.key for row in rows}) == 6
    handed_in = (tmp_path / "jobs").read_text().split()
    assert len(handed_in) >= 2
    assert set((tmp_path / "cancelled").read_text().split()) == set(handed_in)


def test_a_batch_system_that_refuses_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster("slurm", jobs=Jobs(cores=1, memory="1GB", interface="lo"), insecure=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="sbatch is not on the path"):
        list(DaskEngine(cluster).run(iter([task("greedy")])))
    commands(tmp_path, sbatch='#!/bin/sh\necho "sbatch: error: invalid account" >&2\nexit 1\n', scancel=FAKE_SCANCEL)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(EngineError, match="invalid account"):
        list(DaskEngine(cluster).run(iter([task("greedy")])))


def test_batch_systems_are_protected_unless_that_is_waived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(SpecError, match="unprotected between the nodes"):
        Cluster("slurm", jobs=Jobs(cores=1, memory="1GB", interface="lo")).started()


def test_workers_leave_before_their_job_is_ended() -> None:
    assert lifetime("01:00:00", "slurm") == 3600 - 180
    assert lifetime("1-00:00:00", "slurm") == 86_400 - 4320
    assert lifetime("2-12", "slurm") == 60 * 3600 - 10_800
    assert lifetime("30", "slurm") == 1800 - 90
    assert lifetime("00:02:00", "pbs") == 60
    assert lifetime("1:00", "slurm") == 30
    assert lifetime("1:00", "lsf") == 3600 - 180
    assert lifetime("30", "lsf") == 1800 - 90
    assert lifetime("3600", "sge") == 3600 - 180
    assert lifetime("a week", "slurm") is None


@pytest.mark.long
def test_ctrl_c_ends_a_cluster_of_our_own(faulty_solvers: Path, tmp_path: Path) -> None:
    script = tmp_path / "spin.py"
    script.write_text(
        "import sys\n"
        "from tests.bench.faulty import task\n"
        "from transom.bench.run.dask_cluster import Cluster\n"
        "from transom.bench.run.dask_engine import DaskEngine\n"
        "if __name__ == '__main__':\n"
        "    tasks = iter([task('steady'), *(task('faulty:how=spin', seconds=600.0, seed=s) for s in range(8))])\n"
        "    for row in DaskEngine(Cluster('dask', 2)).run(tasks):\n"
        "        print(row.outcome, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ok\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: the workers must not be told
        _, said = process.communicate(timeout=600)
    assert process.returncode != 0
    assert "Worker process" not in said
    assert said.strip().splitlines()[-1] == "KeyboardInterrupt"
    left = subprocess.run(["ps", "-o", "cmd", "--sid", str(process.pid)], capture_output=True, text=True, check=False)
    assert "spawn_main" not in left.stdout
    assert "transom.bench.run.worker" not in left.stdout


def test_a_batch_system_leaves_ctrl_c_as_it_is() -> None:
    # Importing dask-jobqueue makes Ctrl-C an exit of its own, without a word to whoever has to tidy up.
    code = (
        "import signal\n"
        "before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)\n"
        "from transom.bench.run.dask_cluster import dask_jobqueue\n"
        "assert dask_jobqueue().SLURMCluster\n"
        "assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
