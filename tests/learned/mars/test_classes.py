"""Classes of workflows: what makes one, and which checkpoint of a folder is taken for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, transom
from tests.learned.mars.made import checkpoint
from transom import read_workflows
from transom.errors import SpecError
from transom.io import write_documents
from transom.learned.checkpoints import load
from transom.learned.mars.classes import chosen_policy, class_of, fitting
from transom.models import Workflow
from transom.reductions.combining import combine
from transom.simulation import make_policy

__all__ = ["transom"]


def fork(width: int, name: str = "fork") -> Workflow:
    """One split, some work side by side, one merge."""
    tasks = ("s", *(f"w{i}" for i in range(width)), "m")
    edges = [(0, i + 1) for i in range(width)] + [(i + 1, width + 1) for i in range(width)]
    programs = ("split", *["work"] * width, "merge")
    return Workflow(name, tasks, [30.0, *[60.0 + i for i in range(width)], 20.0], edges, programs=programs)


CHAIN = Workflow("chain", ("a", "b", "c"), [5.0, 6.0, 7.0], [(0, 1), (1, 2)], programs=("split", "work", "merge"))
LOOSE = replace(CHAIN, name="loose", edges=[])


def test_a_class_is_what_follows_what_and_not_how_often() -> None:
    assert class_of(fork(2)) == class_of(fork(9)) == class_of(replace(CHAIN, runtimes=[1.0, 1.0, 1.0]))
    assert class_of(combine(fork(8), 4).workflow) == class_of(fork(8))
    assert class_of(LOOSE) != class_of(CHAIN) != class_of(replace(CHAIN, programs=("split", "work", "merge2")))


@pytest.mark.reference
def test_real_workflows_of_one_application_are_a_class(shared: Path) -> None:
    flows = shared / "workflows"

    def of(name: str) -> str:
        return class_of(next(read_workflows(flows / name)))

    small, large = (of(f"blast-chameleon-{size}-001.json.gz") for size in ("small", "large"))
    assert small == large
    assert small != of("bwa-chameleon-small-001.json.gz")


def test_the_checkpoint_whose_classes_fit_is_taken(tmp_path: Path) -> None:
    a, b = class_of(fork(3)), class_of(LOOSE)
    one = checkpoint(tmp_path, classes=[a])
    both = checkpoint(tmp_path, classes=[a, b])
    checkpoint(tmp_path)  # of a trace
    (tmp_path / "training.safetensors").write_bytes(b"of an interrupted training")
    assert fitting(tmp_path, [fork(5), fork(6)]) == one
    assert fitting(tmp_path, [fork(5), LOOSE]) == fitting(tmp_path, [LOOSE]) == both
    other = replace(CHAIN, name="other", programs=("x", "y", "z"))
    with pytest.raises(SpecError, match=r"no checkpoint of mars in it .*: drawn-0-0.safetensors not on .* 'other'"):
        fitting(tmp_path, [fork(2), other])
    assert chosen_policy("me=mars:min=4,model=" + str(tmp_path), [fork(2)]) == f"me=mars:min=[4],model=[{one}]"
    for text in ("mars", "fcfs-easy", f"mars:model={one}", f"kernel:model={tmp_path}"):
        assert chosen_policy(text, [fork(2)]) == text
    with pytest.raises(SpecError, match="is a folder"):
        make_policy(f"mars:model={tmp_path}")


def test_the_command_states_the_class_and_the_replay_takes_it(tmp_path: Path, transom: Callable[..., Ran]) -> None:
    pytest.importorskip("torch", reason="needs the extra learned")
    file, other = tmp_path / "forks.jsonl", tmp_path / "loose.jsonl"
    write_documents(file, [fork(3 + i % 4, f"fork-{i}") for i in range(12)])
    write_documents(other, [LOOSE])
    few = "--updates 1 --batch 2 --length 30 --validation 2 --validation-length 40 --validate-every 1 --nodes 4 --gap 9"
    trained = transom("train", "mars", file, *few.split(), "--name", "forks", "--out", tmp_path / "m")
    assert trained.status == 0, trained.err
    assert f"classes of workflows: {class_of(fork(2))}\n" in trained.out
    assert load(tmp_path / "m" / "forks.safetensors", "mars").card.settings["classes"] == [class_of(fork(2))]
    asked = "--nodes", "4", "--policy", f"mars-learned:model={tmp_path / 'm'}"
    ran = transom("simulate", file, *asked, "--no-reference")
    assert "mars-learned: checkpoint forks, trained on forks.jsonl" in ran.out
    refused = transom("simulate", other, *asked)
    assert refused.status == 2
    assert refused.err.splitlines()[-1].endswith("forks.safetensors not on those like 'loose'")
    named = transom("simulate", other, "--nodes", "4", "--policy", f"mars-learned:model={tmp_path}/m/forks.safetensors")
    assert "; not trained on 1 of 1 classes of these workflows" in named.out
