"""``python -m benchmarks.mars``, ``mars_curves`` and ``mars_workflows``: their tables, from small traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from benchmarks import mars_workflows
from benchmarks.mars import COSTS, main
from tests.cli.conftest import Ran, transom
from tests.learned.mars.made import trace
from transom import read_workflows
from transom.learned.checkpoints import load
from transom.learned.mars.choosing import RULES
from transom.traces import write_swf

__all__ = ["transom"]

SHORT = "--updates 1 --batch 1 --length 20 --validation 2 --validation-length 30"
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def tables(out: str) -> list[list[list[str]]]:
    """The cells of the rows of each table, without the line below the heads."""
    found: list[list[list[str]]] = [[]]
    for line in out.splitlines():
        if line.startswith("|---"):
            continue
        if line.startswith("|"):
            found[-1].append([cell.strip(" `").replace(",", "") for cell in line.split("|")[1:-1]])
        elif found[-1]:
            found.append([])
    return found


def test_the_table_has_heuristics_and_mars_of_every_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="needs the extra learned")
    write_swf(trace(), tmp_path / "small.swf")
    words = [str(tmp_path / "small.swf"), "--first", "200", "--length", "25", "--train", SHORT]
    main([*words, "--more-seeds", "2,3", "--out", str(tmp_path / "out")])
    (head, *rows), by_seed = tables(capsys.readouterr().out)
    assert head == ["policy", "small"]
    *most, (_, above) = rows
    policies = [*RULES, *(f"mars-{cost:g}" for cost in COSTS), "mars-learned"]
    assert [name for name, _ in most] == policies
    values = {name: float(value) for name, value in most}
    assert min(values.values()) >= 1
    assert load(tmp_path / "out" / "small" / "mars.safetensors", "mars").card.trained_on.endswith("its first 140 jobs")
    best = min(RULES, key=values.__getitem__)
    assert float(above) == pytest.approx(100 * (values["mars-0"] / values[best] - 1), abs=0.5)
    assert by_seed[0] == ["trace", "best heuristic", "seed 1", "seed 2", "seed 3", "median", "above the best [%]"]
    name, said, *numbers = by_seed[1]
    assert (name, said) == ("small", f"{best}` {values[best]:.2f}")
    *seeds, middle, far = map(float, numbers)
    assert (len(seeds), seeds[0]) == (3, values["mars-0"])
    assert middle == median(seeds)
    assert far == pytest.approx(100 * (middle / values[best] - 1), abs=1)
    for seed in (2, 3):
        assert load(tmp_path / "out" / f"small-seed-{seed}" / "mars.safetensors", "mars").card.seed == seed


def test_curves_show_both_parts_at_each_learning_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="needs the extra learned")
    from benchmarks import mars_curves

    write_swf(trace(), tmp_path / "small.swf")
    words = "--first 200 --watched-length 55 --length 100 --updates 2 --every 1 --batch 2 --rates 1e-3,0.3 --figure"
    mars_curves.main([str(tmp_path / "small.swf"), *words.split(), str(tmp_path / "curves.png")])
    ((head, *rows),) = tables(capsys.readouterr().out)
    assert head == ["updates", "0.001: training", "0.001: test", "0.3: training", "0.3: test"]
    assert [row[0] for row in rows] == ["0", "1", "2"]
    values = [[float(cell) for cell in row[1:]] for row in rows]
    assert min(map(min, values)) >= 1
    assert values[0][:2] == values[0][2:]  # all begin as the same network
    assert values[2][:2] != values[2][2:]
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_streams_of_workflows_and_real_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="needs the extra learned")
    files = [EXAMPLES / "diamond.dax", EXAMPLES / "wfformat.json"]
    words = ["--out", str(tmp_path), "--sizes", "5,12", "--tasks", "80", "--nodes", "2,4", "--gap", "60"]
    mars_workflows.main([*words, "--train", SHORT, "--real", *map(str, files)])
    streams, alone, together = tables(capsys.readouterr().out)
    policies = [*mars_workflows.HEURISTICS, *mars_workflows.MARS]
    assert streams[0][1:] == [f"{size} tasks: {what}" for size in (5, 12) for what in ("stretch", "slowdown")]
    assert [row[0] for row in streams[1:]] == [*policies, *(f"{name}` combined" for name in policies)]
    assert min(float(cell) for row in streams[1:] for cell in row[1:]) >= 1
    assert len(list(read_workflows(tmp_path / "workflows-of-5.jsonl"))) == 11  # of 16
    assert alone[0] == ["workflow", "nodes", "bound [s]", *(f"{name} [%]" for name in ("heft", *policies))]
    assert [row[:2] for row in alone[1:-1]] == [[name, nodes] for name in ("diamond", "wfformat") for nodes in "24"]
    assert min(float(cell) for row in alone[1:-1] for cell in row[3:]) >= 0  # nothing is below a bound
    assert float(alone[2][3]) == 0  # a diamond has room enough on four nodes
    assert [row[0] for row in together[1:]] == ["proved bound", "heft", *policies]
    bound, *others = ([float(cell) for cell in row[1:]] for row in together[1:])
    assert all(least <= value for other in others for least, value in zip(bound, other, strict=True))


def test_the_stream_of_real_workflows_is_that_of_the_command(
    capsys: pytest.CaptureFixture[str], transom: Callable[..., Ran]
) -> None:
    files = [EXAMPLES / "diamond.dax", EXAMPLES / "wfformat.json"]
    flows = [mars_workflows.in_seconds(flow) for path in files for flow in read_workflows(path)]
    mars_workflows.print_together(mars_workflows.arrived(flows, 60.0, 1), 2, {"sjf": "sjf-easy"}, 1.0)
    ((_, _, _, row),) = tables(capsys.readouterr().out)
    words = ["simulate", *files, "--nodes", "2", "--gap", "60", "--seed", "1", "--policy", "sjf-easy", "--json"]
    figures = transom(*words).lines[0]["policies"][0]["metrics"]
    assert row == [
        "sjf",
        f"{figures['makespan']:.0f}",
        f"{figures['mean_makespan']:.0f}",
        f"{figures['mean_stretch']:.2f}",
    ]
