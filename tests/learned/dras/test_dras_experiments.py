"""The arithmetic of the experiments with DRAS: rows, means and ranges, conditions, and the page that shows them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.dras.__main__ import main
from benchmarks.dras.adaptation import busy_and_other_waits
from benchmarks.dras.conditions import conditions
from benchmarks.dras.curves import ORDERS, Curve, by_label, in_order, read_curves, write_curves
from benchmarks.dras.curves import trained as trained_on
from benchmarks.dras.methods import AGENTS, DQL, FCFS, GROWING, SAF, SJF, WAITING, Method, agents, rules
from benchmarks.dras.rows import FIGURES, Row, copies, measure_all, read_rows, values, write_rows
from benchmarks.dras.tables import by_seed, estimate, labels, main_table, markdown, seed_table
from benchmarks.dras.train import VARIANTS, command
from benchmarks.dras.trained import Trained, read_trained, write_trained
from transom import simulate
from transom.errors import DocumentError, SpecError
from transom.generate import generate_lublin
from transom.models import Cluster, JobTable
from transom.simulation.output.metrics import summary
from transom.traces import Workload

HOUR = 3600.0


def row(label: str, agent: int | None, jitter: int, wait: float, slow: float = 10.0, longest: float = 100.0) -> Row:
    figures = dict.fromkeys(FIGURES, 0.5) | {
        "mean_wait": wait, "mean_bounded_slowdown": slow, "max_wait": longest * HOUR, "mean_wait_backfilled": math.nan,
    }  # fmt: skip
    return Row("made-months-4-12", label, agent, jitter, figures)


def protocol(waits: dict[int, float], slow: float = 35.0, growing: float = 300.0) -> list[Row]:
    """Rules as on theta_2022, an agent with these mean waits by seed, and one with a penalty."""
    made = []
    for jitter in range(10):
        off = jitter - 4.5
        made += [row(FCFS, None, jitter, 50_000 + off, 110, 180), row(SJF, None, jitter, 17_000 + off, 39, 430)]
        made.append(row(SAF, None, jitter, 15_500 + off, 38, 570))
        made += [row(WAITING, seed, jitter, wait + off, slow, 560) for seed, wait in waits.items()]
        made += [row(GROWING, seed, jitter, wait + off, slow, growing) for seed, wait in waits.items()]
    return made


def trained(seconds: float = 180.0) -> list[Trained]:
    return [Trained("made-months-4-12", WAITING, seed, seconds, 10**6, 2500, "0" * 32) for seed in range(1, 6)]


def verdicts(rows: list[Row], seconds: float = 180.0) -> dict[str, bool]:
    return {each.text: each.holds for each in conditions(rows, trained(seconds)) if each.required}


GOOD = dict(zip(range(1, 6), (16_800.0, 17_000.0, 17_100.0, 17_200.0, 17_300.0), strict=True))


def test_conditions_hold_where_the_figures_are_good() -> None:
    assert set(verdicts(protocol(GOOD)).values()) == {True}
    assert len(verdicts(protocol(GOOD))) == 7


@pytest.mark.parametrize(
    ("rows", "seconds", "broken"),
    [
        (protocol(GOOD), 601.0, "training takes at most 600 s"),
        (protocol({**GOOD, 3: 20_100.0}), 180.0, "mean wait at least 60 % below"),
        (protocol({seed: wait + 800 for seed, wait in GOOD.items()}), 180.0, "mean wait at most 1.05 times"),
        (protocol(GOOD, slow=36.5), 180.0, "at least 5 % below the better"),
        (protocol(GOOD, slow=44.5), 180.0, "bounded slowdown at least 60 % below"),
        (protocol(GOOD, growing=361.0), 180.0, "maximum wait at most 2 times"),
        (protocol({seed: wait for seed, wait in GOOD.items() if seed < 5}), 180.0, "5 seeds and 10 jittered copies"),
        ([each for each in protocol(GOOD) if each[1:4] != (WAITING, 2, 3)], 180.0, "5 seeds and 10 jittered copies"),
    ],
)  # fmt: skip
def test_conditions_do_not_hold_where_they_are_not(rows: list[Row], seconds: float, broken: str) -> None:
    found = verdicts(rows, seconds)
    assert [text for text, holds in found.items() if broken in text and not holds]
    assert sum(not holds for holds in found.values()) <= 2  # a slowdown far off breaks both of its conditions


def test_one_bad_seed_is_enough_and_the_mean_may_not_hide_it() -> None:
    waits = {1: 10_000.0, 2: 10_000.0, 3: 10_000.0, 4: 10_000.0, 5: 20_001.0}
    broken = [text for text, holds in verdicts(protocol(waits)).items() if not holds]
    assert broken == [f"{WAITING}: mean wait at least 60 % below {FCFS} on every seed"]


def test_the_second_agent_is_reported_and_not_required() -> None:
    rows = protocol(GOOD) + [row(DQL, 1, jitter, 60_000.0, 200.0) for jitter in range(10)]
    of_it = [each for each in conditions(rows, trained()) if each.text.startswith(DQL)]
    assert len(of_it) == 4
    assert not any(each.required or each.holds for each in of_it)


def test_the_stretch_asks_for_all_seeds_and_no_starving() -> None:
    def stretch(rows: list[Row]) -> bool:
        return next(each.holds for each in conditions(rows, trained()) if each.text.startswith("stretch"))

    fast = dict.fromkeys(GOOD, 15_000.0)
    assert not stretch(protocol(fast))  # 560 h is more than twice 180 h
    fair = [each for each in protocol(fast) if each.label != WAITING]
    fair += [row(WAITING, seed, jitter, 15_000.0, 35, 350) for seed in fast for jitter in range(10)]
    assert stretch(fair)
    assert not stretch([*fair, *(row(WAITING, 6, jitter, 15_600.0, 35, 350) for jitter in range(10))])


def test_means_and_ranges_are_over_seeds_or_else_over_copies() -> None:
    rows = [row("a", seed, jitter, 100.0 * seed + jitter) for seed in (1, 2, 6) for jitter in (0, 1, 2)]
    assert by_seed(rows, "a", "mean_wait") == {1: 101.0, 2: 201.0, 6: 601.0}
    found = estimate(rows, "a", "mean_wait")
    assert found.mean == pytest.approx(301.0)
    assert (found.least, found.most) == (101, 601)
    # A seed with more copies does not count for more.
    assert estimate([*rows, row("a", 6, 3, 601.0)], "a", "mean_wait").mean == pytest.approx(301.0)
    rule = [row("b", None, jitter, wait) for jitter, wait in enumerate((1.0, 2.0, 6.0))]
    assert estimate(rule, "b", "mean_wait").mean == pytest.approx(3.0)
    assert estimate(rule, "b", "mean_wait")[1:] == (1, 6)
    assert estimate(rule[:1], "b", "mean_wait") == (1.0, 1.0, 1.0)
    assert math.isnan(estimate(rule, "b", "mean_wait_backfilled").mean)
    half = [*rule[:2], rule[2]._replace(figures={**rule[2].figures, "mean_wait_backfilled": 5.0})]
    assert estimate(half, "b", "mean_wait_backfilled").mean == 5.0


def test_rows_survive_the_file(tmp_path: Path) -> None:
    rows = [row("a, with a comma", 3, 0, 1234.5), row("b", None, 1, 1e6)]
    write_rows(tmp_path / "rows.csv", rows)
    again = read_rows(tmp_path / "rows.csv")
    assert [each[:4] for each in again] == [each[:4] for each in rows]
    for before, after in zip(rows, again, strict=True):
        np.testing.assert_equal(after.figures, before.figures)
    (tmp_path / "rows.csv").write_text("workload,method\nx,y\n")
    with pytest.raises(DocumentError, match=r"rows\.csv: not a table of measurements"):
        read_rows(tmp_path / "rows.csv")


def test_trainings_survive_the_file_and_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "trained.csv"
    write_trained(path, trained())
    write_trained(path, [trained(99.0)[0]])
    assert sorted(read_trained(path)) == sorted([trained(99.0)[0], *trained()[1:]])


def test_measuring_is_simulating_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    workload = generate_lublin(150, 32, np.random.default_rng(0), load=0.9)
    methods = [method for method in rules() if method.label in (FCFS, "BinPacking")]
    calls: list[None] = []
    rows = measure_all(workload, methods, 2, tmp_path / "rows.csv", lambda: calls.append(None))
    assert len(rows) == len(calls) == 4
    again = summary(simulate(copies(workload, 2)[1], "largest-first"))
    assert values(rows, "BinPacking", "mean_wait")[None][1] == pytest.approx(again["mean_wait"], rel=1e-6)
    # Stored rows are taken as they are, also where they say something else.
    stored = read_rows(tmp_path / "rows.csv")
    stored[0].figures["mean_wait"] = -1.0
    write_rows(tmp_path / "rows.csv", stored)
    more = measure_all(workload, [*methods, Method("LJF", "ljf")], 2, tmp_path / "rows.csv")
    assert values(more, FCFS, "mean_wait")[None][0] == -1.0
    assert len(more) == 6


def test_agents_are_found_by_variant_and_seed(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="holds none of"):
        list(agents(tmp_path))
    for place in ("waiting/10", "waiting/2", "dql/1", "untrained/1"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "best.safetensors").touch()
    found = list(agents(tmp_path))
    assert [(method.label, method.agent) for method in found] == [
        ("untrained", 1), ("untrained, drawn", 1), (WAITING, 2), (WAITING, 10), (DQL, 1),
    ]  # fmt: skip
    assert found[1].spec == f"{found[0].spec},choose=sample"
    assert found[4].spec.startswith("dras-dql:model=")
    (tmp_path / "dql" / "1" / "other.safetensors").touch()
    with pytest.raises(SpecError, match=r"expected one \.safetensors file, found 2"):
        list(agents(tmp_path))


def test_every_agent_of_the_protocol_has_a_training() -> None:
    assert set(VARIANTS) == set(AGENTS)
    words = command(Path("t.swf"), "eq1", 3, Path("out"), 7)
    assert words[:3] == ["train", "dras", "t.swf"]
    assert words[words.index("--settings") + 1] == "overlap=yes,epoch=7,reward=capability"
    assert words[-4:] == ["--seed", "3", "--out", str(Path("out/eq1/3"))]


def test_tables() -> None:
    rows = protocol(GOOD)
    assert labels(rows) == [FCFS, SJF, SAF, WAITING, GROWING]
    columns, cells = main_table(rows)
    assert [line[0] for line in cells] == labels(rows)
    assert cells[0][1].startswith("50,000 (")
    assert cells[3][3] == "560"
    columns, cells = seed_table(rows)
    assert columns[2:] == [f"seed {seed}" for seed in GOOD]
    assert cells[0] == [WAITING, "mean wait [s]", "16,800", "17,000", "17,100", "17,200", "17,300"]
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | ---: |\n| 1 | 2 |"


def test_busy_weeks_are_those_of_most_demand() -> None:
    # Weeks 1 to 4 submit 10, 40, 20 and 30 node-hours in one, two, one and one job.
    week = 7 * 86_400
    submit = [0, week, week + 7200, 2 * week, 3 * week]
    hours = [10, 20, 20, 20, 30]
    data = [(i + 1, s, 1, 3600 * h, -1, -1) for i, (s, h) in enumerate(zip(submit, hours, strict=True))]
    workload = Workload("weeks", Cluster(1), JobTable(data), np.array(hours) * 3600)
    schedule = simulate(workload, "fcfs")
    assert schedule.wait.tolist() == [0, 0, 18 * 3600, 0, 0]
    assert busy_and_other_waits(schedule) == (9 * 3600.0, 0.0)


def test_orders_have_the_same_jobsets_and_as_many() -> None:
    workload = generate_lublin(400, 32, np.random.default_rng(0), load=0.9)
    made = {label: in_order(workload, phases, 1, 3, 40) for label, phases in ORDERS.items()}
    names = {label: [each.name for each in sets] for label, sets in made.items()}
    first, second, third, alone = names.values()
    assert sorted(first) == sorted(second) == sorted(third)
    assert len(alone) == len(first)
    assert all("week" in name for name in alone)
    assert first[:9] == second[len(alone) - 3 - 9 : -3] == third[3:12]
    assert alone[0] == second[0]


def test_curves_survive_the_file(tmp_path: Path) -> None:
    curves = [Curve("a, b", 1, [3.0, 2.5]), Curve("a, b", 2, [5.0, 1.5]), Curve("c", 1, [7.0, 8.0])]
    write_curves(tmp_path / "curves.csv", curves)
    assert read_curves(tmp_path / "curves.csv") == curves
    assert by_label(curves)["a, b"].tolist() == [[3.0, 2.5], [5.0, 1.5]]
    (tmp_path / "curves.csv").write_text("training,seed\na,x\n")
    with pytest.raises(DocumentError, match="not a table of measurements"):
        read_curves(tmp_path / "curves.csv")


def test_a_curve_has_a_point_for_every_jobset_and_its_seed_decides() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("tensorboard")
    from transom.learned.dras.process.process import AgentConfig
    from transom.learned.dras.training.training import Training, TrainingSettings

    workload = generate_lublin(200, 32, np.random.default_rng(0), load=1.2)
    sets = in_order(workload, ("sampled", "real", "synthetic"), 1, 2, 30, 1.5)

    def curve(seed: int) -> list[float]:
        settings = TrainingSettings(scheme=AgentConfig(head=0), batch=32, seed=seed)
        return list(trained_on(Training(sets, [workload], settings, "cpu")))

    first = curve(1)
    assert len(first) == 1 + len(sets)
    assert len(set(first)) > 2
    assert first == curve(1)
    assert first != curve(2)


def test_the_check_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(tmp_path / "rows.csv", [row(FCFS, None, 0, 1.0)])
    write_trained(tmp_path / "trained.csv", trained())
    asked = ["check", "--rows", str(tmp_path / "rows.csv"), "--trained", str(tmp_path / "trained.csv")]
    assert main(asked) == 1
    assert f"holds no rows of {WAITING}, {GROWING}, {SAF}, {SJF}" in capsys.readouterr().out
    write_rows(tmp_path / "rows.csv", protocol(GOOD))
    assert main(asked) == 0
    write_rows(tmp_path / "rows.csv", protocol({**GOOD, 3: 20_100.0}))
    assert main(asked) == 1
    assert main(["check", "--rows", str(tmp_path / "none.csv")]) == 2
