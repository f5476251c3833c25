"""TLS works with what the extra ``distributed`` declares, and with nothing that happens to be installed besides."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[3]

RUN = """
import sys
from pathlib import Path

if __name__ == "__main__":
    import msgspec
    import numpy as np
    from distributed.security import Security
    from transom.bench.run.dask_cluster import Cluster
    from transom.bench.run.dask_engine import DaskEngine
    from transom.bench.run.dask_security import Certificates
    from transom.bench.plan.task import Task
    from transom.io.documents import encode
    from transom.models import Knapsack
    from transom.stop import Stop

    assert not any("site-packages" in place for place in sys.path), sys.path
    made = Security.temporary()
    names = ("ca", "cert", "key")
    for name, text in zip(names, (made.tls_ca_file, made.tls_client_cert, made.tls_client_key)):
        Path(f"{name}.pem").write_text(text)
    problem = Knapsack(np.array([3, 4]), np.array([1, 2]), 2)
    run = Task(
        set="s", label="l", document=msgspec.Raw(encode(problem)), instance=problem.digest(), problem=problem.kind,
        name="greedy", spec="greedy", stop=Stop(seconds=60.0), seed=0,
    )
    cluster = Cluster("dask", certificates=Certificates(*(Path(f"{name}.pem") for name in names)))
    with cluster.open() as client:
        print(client.scheduler.address)
    print([row.outcome for row in DaskEngine(cluster).run(iter([run]))])
"""


def closure(name: str, extra: str) -> dict[str, Distribution]:
    """A distribution with everything that it, with an extra, and what that needs require."""
    found: dict[str, Distribution] = {}
    open_ones = [(name, frozenset({extra}))]
    seen = set()
    while open_ones:
        each = open_ones.pop()
        if each in seen:
            continue
        seen.add(each)
        there = found.setdefault(each[0].lower().replace("_", "-"), distribution(each[0]))
        for text in there.requires or ():
            needed = Requirement(text)
            wanted = [{"extra": asked} for asked in ("", *each[1])]
            if needed.marker is None or any(needed.marker.evaluate(environment) for environment in wanted):
                open_ones.append((needed.name, frozenset(needed.extras)))
    return found


def linked(folder: Path, packages: dict[str, Distribution]) -> None:
    """A folder in which these distributions are installed, and no others."""
    for name, package in packages.items():
        tops = {Path(str(file)).parts[0] for file in package.files or ()} - {"..", "__pycache__"}
        for top in tops:
            target = Path(str(package.locate_file(top)))
            link = folder / top
            if not target.is_dir():
                link.symlink_to(target)
                continue
            link.mkdir(exist_ok=True)  # several may share one, such as a namespace
            for part in target.iterdir():
                if not (link / part.name).exists():
                    (link / part.name).symlink_to(part)
        if name == "transom" and not (folder / "transom").exists():  # installed from a checkout
            (folder / "transom").symlink_to(ROOT / "transom")


@pytest.mark.slow
def test_tls_needs_nothing_but_the_extra(tmp_path: Path) -> None:
    packages = closure("transom", "distributed")
    assert {"distributed", "dask-jobqueue", "cryptography", "cffi"} <= set(packages)
    assert not {"pytest", "torch", "scikit-learn"} & set(packages)
    place = tmp_path / "packages"
    place.mkdir()
    linked(place, packages)
    (tmp_path / "run.py").write_text(RUN)
    environment = {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run(
        [sys.executable, "-S", "run.py"], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    address, outcomes = done.stdout.split("\n")[:2]
    assert address.startswith("tls://127.0.0.1:")
    assert outcomes == "['ok']"
