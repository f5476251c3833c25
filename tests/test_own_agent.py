"""The agent of the examples: trained, compared by its file, drawn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from transom.cli import run

pytest.importorskip("gymnasium", reason="needs the extra 'learned'")

TRACE = "instances/workloads/lublin_5000.swf.gz"


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What comparing the policies of a line prints."""
    root = Path(__file__).resolve().parents[1]
    monkeypatch.chdir(root)

    def simulate(*words: str) -> str:
        assert run(["-q", "simulate", TRACE, "--jobs", "100", *words]) == 0
        return capsys.readouterr().out

    return simulate


def test_an_agent_goes_from_its_training_to_a_row_and_figures(simulated: Callable[..., str], tmp_path: Path) -> None:
    example = Path("examples/own_agent.py").resolve()
    trained = [sys.executable, str(example), "2"]
    said = subprocess.run(trained, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.startswith("mean wait ")
    made = tmp_path / "out" / "own_agent"
    assert (made / "learning.png").read_bytes().startswith(b"\x89PNG")
    weights, out = made / "weights.npy", tmp_path / "replay"
    agent = f"./examples/own_agent.py:trained:weights={weights}"
    printed = simulated("--policy", "fcfs-easy", "--policy", agent, "--out", str(out), "--format", "png")
    assert printed.startswith("trained instead of fcfs-easy would have ")
    assert (out / "trained" / "jobs.parquet").exists()
    assert (out / "figures" / "wait_by_size.png").read_bytes().startswith(b"\x89PNG")
    assert simulated("--policy", agent, "--no-figures") == simulated("--policy", agent, "--no-figures")
