"""The experiments of the NSA paper: what is measured, kept and computed from it, and that the page says the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks import nsa_epochs, nsa_equal_rules, nsa_networks, nsa_tables
from benchmarks.nsa_epochs import Epoch, Method, Row, Setting, Table, complete, generated, measure, proved
from transom import Stop, registry, solve
from transom.errors import DocumentError, ModelError, SpecError
from transom.io import PeriodWindow, write_documents
from transom.models import Allocation
from transom.plot import Search, costs_by_steps, gap_by_seconds
from transom.rng import stream

SMALL = Setting(epochs=2, periods=6)
PLAIN = (
    Method("Seq.", "static", "sequential"),
    Method("SA", "dynamic", "sa:steps=30"),
    Method("scas-dp", "static", "scas-dp"),
)


@pytest.fixture(scope="module")
def epoch() -> Epoch:
    ((number, windows),) = generated(SMALL, [1])
    return proved(number, windows)


def row(method: str, epoch: int, total: float, **facts: object) -> Row:
    """A row of 100 periods and 90 windows made by hand."""
    setting = ("authors", 100, "scas-dp", 0)
    base = Row(*setting, epoch, method, "free", method, 1, "", 90, 300, total, 0, 0, 0, 0.1, 0.2, 1.0, 1.0, 2.0)
    return replace(base, **facts)


def table_of(path: Path, *rows: Row) -> Table:
    table = Table(path)
    for each in rows:
        table.add(each)
    return table


def test_a_row_is_what_the_windows_say(epoch: Epoch) -> None:
    assert len(epoch.windows) == 6
    assert (epoch.dynamic <= epoch.static).all()
    found = measure(SMALL, epoch, PLAIN[1])
    values = []
    for at, window in enumerate(epoch.windows):
        result = solve(window.with_rule("dynamic"), "sa:steps=30", Stop(), 1000 + at)
        assert result.value is not None
        values.append(result.value)
    assert found.total == sum(values)
    assert found.jobs == sum(map(len, epoch.windows))
    assert found.dynamic_gap == pytest.approx(np.mean(np.array(values) / epoch.dynamic) - 1, abs=1e-6)
    assert found.static_gap == pytest.approx(np.mean(np.array(values) / epoch.static) - 1, abs=1e-6)
    assert (found.proved, found.unsolved, found.weights) == (0, 0, "")
    assert 0 < found.median <= found.p99
    exact = measure(SMALL, epoch, PLAIN[2])
    assert (exact.static_gap, exact.proved) == (0, 6)


def test_every_nth_window_from_the_middle_of_the_first_stretch_on(epoch: Epoch) -> None:
    found = measure(SMALL, epoch, Method("a", "static", "scas-dp", every=4))
    assert found.windows == 1
    assert found.total == epoch.static[2]
    assert measure(SMALL, epoch, Method("a", "static", "scas-dp", every=2)).total == epoch.static[1::2].sum()


def test_windows_without_an_answer_are_counted_apart(epoch: Epoch, monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        name = "nothing"

        def __call__(self, problem: object, budget: object, rng: object) -> None:
            if len(problem) > 1:
                budget.notes["cancelled"] = 1

    monkeypatch.setattr(nsa_epochs, "_made", lambda spec: Nothing())
    found = measure(SMALL, epoch, Method("n", "static", "nothing", native=True))
    assert found.unsolved == 6
    assert found.cancelled == 6
    assert found.total == 0
    assert np.isnan(found.static_gap)


def test_no_test_epoch_is_trained_on() -> None:
    from transom.learned.repair.pool import CLUSTERS, WindowPool

    model, cost = CLUSTERS["authors"]
    pool = WindowPool.generate(model, cost, seed=0, epochs=2, periods=6)
    trained = {pool.windows.sizes[a:b].tobytes() for a, b in pairwise(pool.windows.first_job)}
    tested = [window.sizes.tobytes() for _, windows in generated(SMALL, [0, 1, 2]) for window in windows]
    assert len(trained) > 5
    assert trained.isdisjoint(tested)
    drawn = [tuple(stream(0, name, 1).integers(2**62, size=4)) for name in ("tjap", "repair training")]
    assert drawn[0] != drawn[1]


def test_what_is_in_the_table_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = nsa_epochs.measure

    def counted(setting: Setting, epoch: Epoch, method: Method) -> Row:
        asked.append((method.title, epoch.number))
        return real(setting, epoch, method)

    monkeypatch.setattr(nsa_epochs, "measure", counted)
    path = tmp_path / "folder" / "t.csv"
    complete(Table(path), SMALL, PLAIN[:1])
    complete(Table(path), SMALL, PLAIN)
    assert asked == [("Seq.", 1), ("Seq.", 2), ("SA", 1), ("scas-dp", 1), ("SA", 2), ("scas-dp", 2)]
    before, kept = path.read_bytes(), Table(path).rows
    complete(Table(path), SMALL, PLAIN)
    assert len(asked) == 6
    assert path.read_bytes() == before
    complete(Table(path), SMALL, [PLAIN[1]._replace(spec="sa:steps=31")])
    assert asked[6:] == [("SA", 1), ("SA", 2)], "another specification is measured anew"
    assert len(Table(path).rows) == len(kept)
    with pytest.raises(SpecError, match="is asked for; name another --table"):
        complete(Table(path), replace(SMALL, seed=1), PLAIN)


def test_a_file_that_is_no_table_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DocumentError, match=r"t\.csv: not a table of results"):
        Table(path)
    with pytest.raises(SystemExit) as ended:
        nsa_tables.main(["--table", str(path), "--stored"])
    assert ended.value.code == 2
    assert "not a table of results" in capsys.readouterr().err


def test_improvement_and_equal_time(tmp_path: Path) -> None:
    table = table_of(
        tmp_path / "t.csv",
        row("SA-1000", 1, 10_000.0, mean=2.0, spec="sa:steps=1000,a=b"), row("SA-1000", 2, 20_000.0, mean=2.0),
        row("NSA-500", 1, 9_000.0, mean=30.0), row("NSA-500", 2, 21_000.0, mean=31.5),
    )  # fmt: skip
    gains = nsa_tables.improvement(table.of("SA-1000"), table.of("NSA-500"))
    assert gains == pytest.approx([10.0, -5.0])
    assert nsa_epochs.costs(table.of("SA-1000")).tolist() == [100.0, 200.0]
    assert nsa_tables.equal_time(table).spec.startswith("sa:steps=15000,")
    table.add(row(nsa_tables.EQUAL_TIME, 1, 1.0, spec="sa:steps=7,first=100", mean=29.0))
    assert nsa_tables.equal_time(table).spec == "sa:steps=7,first=100", "near enough"
    table.add(row(nsa_tables.EQUAL_TIME, 1, 1.0, spec="sa:steps=15000,first=100", mean=20.5))
    assert nsa_tables.equal_time(table).spec.startswith("sa:steps=22000,")


def test_the_mean_over_windows_weighs_epochs_by_their_windows() -> None:
    rows = [row("a", 1, 1.0, windows=10, dynamic_gap=0.1), row("a", 2, 1.0, windows=30, dynamic_gap=0.3)]
    assert nsa_epochs.mean_of(rows, lambda each: each.dynamic_gap) == pytest.approx(0.25)


def test_table_three_counts_epochs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    titles = ("Seq.", "SA-500", "SA-1000", "NSA-500", nsa_tables.EQUAL_TIME)
    costs = {"Seq.": 12, "SA-500": 11, "SA-1000": 10, "NSA-500": 9.9, nsa_tables.EQUAL_TIME: 9}
    specs = {title: f"sa:steps={len(title)}" for title in titles}
    rows = [row(title, epoch, 1000.0 * costs[title], spec=specs[title]) for title in titles for epoch in (1, 2, 3)]
    table = table_of(tmp_path / "t.csv", *rows, row("NSA-500", 3, 10_100.0))
    nsa_tables.print_annealing(table, True)
    printed = capsys.readouterr().out
    assert "| 3 | 120 | 110 | 1.00 | 100 | 1.00 | 101 | 1.00 | 90 | 1.00 | -1.00 | 8.18 | -12.22 |" in printed
    assert "NSA-500 costs less than SA-1000 in 2 of 3 epochs; in the mean 0.33 (-1.00 to 1.00) % less." in printed
    assert f"less than {nsa_tables.EQUAL_TIME} (14 steps)" in printed
    assert "in 0 of 3 epochs" in printed


def test_under_equal_rules_whoever_is_better_in_the_time_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def both(title: str, gap: float, milliseconds: float) -> list[Row]:
        return [row(title, epoch, 1.0, dynamic_gap=gap, mean=milliseconds) for epoch in (1, 2)]

    rows = [
        *both("NSA: 500", 0.02, 20.0), *both("uniform repair: 500", 0.03, 1.0),
        *both("uniform repair: 5000", 0.01, 10.0),
        *both("uniform repair: 2000", 0.015, 4.0), *both("uniform, first 100: 500", 0.025, 1.0),
        *both("cheapest start: 500", 0.01, 25.0), *both("dcas-exact", 0.0, 6.0), *both("Seq.", 0.3, 0.1),
    ]  # fmt: skip
    table = table_of(tmp_path / "t.csv", *rows)
    nsa_equal_rules.print_verdicts(table)
    printed = capsys.readouterr().out
    assert "lower in that time: dcas-exact (0.00 % in 6 ms), uniform repair: 5000 (1.00 % in 10 ms).\n" in printed
    assert "NSA against uniform repair, 500 steps each: -1.00 points of the gap, lower in 2 of 2" in printed
    assert "NSA against cheapest start, 500 steps each: 1.00" in printed
    assert "nsa-cost" not in printed, "nothing is said of what was not measured"
    nsa_equal_rules.print_table(table, True)
    printed = capsys.readouterr().out
    assert "| dcas-exact | 0.00 in 6 |" in printed
    assert "| uniform repair | - | - | - | 3.00 in 1 | - | 1.50 in 4 | 1.00 in 10 | 10.00" in printed
    assert nsa_equal_rules.draw(table, tmp_path / "f.png").stat().st_size > 10_000


def test_figure_five_compares_with_twice_the_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    specs = {method.title: method.spec for method in nsa_networks.methods(Path("models"), 3)}
    assert len(specs) == 6 * 7
    assert specs["SA: 1200"].startswith("sa:steps=1200,")
    assert "steps=600," in specs["cnn-2: 600"]
    rows = [row(f"SA: {2 * steps}", epoch, 10_000.0) for steps in nsa_networks.STEPS for epoch in (1, 2)]
    rows += [row(f"cnn-3: {steps}", epoch, 9_900.0) for steps in nsa_networks.STEPS for epoch in (1, 2)]
    table = table_of(tmp_path / "t.csv", *rows)
    nsa_networks.print_table(table, True)
    printed = capsys.readouterr().out
    assert printed.count("110 in 1 (+1.00 %)") == 6
    assert "fcn-1" not in printed
    nsa_networks.draw(table, tmp_path / "f.svg")


def test_lines_of_the_figures_are_the_figures(tmp_path: Path) -> None:
    figure = gap_by_seconds({"a": Search([0.001, 0.01], [0.1, 0.02])}, {"exact": (0.006, 0.0)}, "t")
    line, point = figure.axes[0].get_lines()
    assert line.get_xdata().tolist() == [1, 10]
    assert line.get_ydata().tolist() == [10, 2]
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (6, 0)
    low, _ = figure.axes[0].get_ylim()
    assert low < 0
    figure = costs_by_steps([1, 2], {"n": [90.0, 80.0]}, [100.0, 80.0], "SA", "t")
    assert figure.axes[1].get_lines()[1].get_ydata().tolist() == pytest.approx([10.0, 0.0])
    for searches, single in (({}, {}), ({"a": Search([1.0], [])}, {}), ({}, {"b": (0.0, 0.0)})):
        with pytest.raises(ModelError, match="figure"):
            gap_by_seconds(searches, single, "t")
    with pytest.raises(ModelError, match="one cost for each number of steps"):
        costs_by_steps([1, 2], {"n": [90.0]}, [100.0, 80.0], "SA", "t")


def test_the_command_measures_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--table", str(tmp_path / "t.csv"), "--epochs", "1", "--periods", "6"]
    setting = Setting(epochs=1, periods=6)
    complete(Table(tmp_path / "t.csv"), setting, [nsa_equal_rules.SINGLE[0]])
    nsa_equal_rules.main([*words, "--stored"])
    printed = capsys.readouterr().out
    assert "Seq." in printed
    assert "scas-dp" not in printed
    with pytest.raises(SystemExit):
        nsa_equal_rules.main([*words, "--seed", "7"])
    assert "name another --table" in capsys.readouterr().err


TABLES = ("tables", "equal_rules", "networks")


@pytest.mark.parametrize("name", TABLES)
def test_the_results_are_of_the_weights_that_are_there(name: str) -> None:
    rows = Table(nsa_epochs.RESULTS / f"{name}.csv").rows.values()
    learned = {row.spec: row.weights for row in rows if row.spec.startswith("nsa")}
    assert learned
    for spec, weights in learned.items():
        solver = registry.make(registry.SOLVERS, spec, Allocation)
        assert nsa_epochs.weights_of(solver) == weights, f"{spec}: measure again, the weights are other ones"


@pytest.mark.parametrize("name", TABLES)
def test_stored_epochs_are_whole(name: str) -> None:
    table = Table(nsa_epochs.RESULTS / f"{name}.csv")
    assert nsa_epochs.unequal(table) == ""
    assert {row.epoch for row in table.rows.values()} == set(range(1, 11))


def test_windows_of_a_file_instead_of_generated_ones(tmp_path: Path) -> None:
    ((_, windows),) = generated(SMALL, [1])
    lines = [
        PeriodWindow(each.tree, each.idle, np.arange(len(each)), each.sizes, 4, number)
        for number, each in enumerate(windows)
    ]
    write_documents(tmp_path / "windows.jsonl", lines)
    table = Table(tmp_path / "t.csv")
    complete(table, SMALL, PLAIN[:1], tmp_path / "windows.jsonl")
    (found,) = table.of("Seq.")
    assert (found.epoch, found.windows, found.policy) == (4, 6, "as in windows.jsonl")
    total = sum(solve(window.with_rule("static"), "sequential").value or 0 for window in windows)
    assert found.total == total
    write_documents(tmp_path / "others.jsonl", list(windows))
    with pytest.raises(DocumentError, match=r"others\.jsonl.*not a window of a stream"):
        complete(Table(tmp_path / "u.csv"), SMALL, PLAIN[:1], tmp_path / "others.jsonl")
