"""The page: what it says, that nothing in it can run or reach out, and that it stays bounded."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from hashlib import sha256
from html.parser import HTMLParser
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.rows import EVIL, MACHINE, failed, replaced, replays, solves
from transom.bench.plan.task import Row
from transom.bench.store.frame import to_frame
from transom.errors import DocumentError
from transom.report import comparison, failures, lead, pictures, render, runs, sequences, write_report
from transom.report import page as pages
from transom.report.assembly import joined
from transom.report.page import Page
from transom.stop import Stop

pytestmark = pytest.mark.xdist_group("report")  # what is drawn once serves all


class Read(HTMLParser):
    """Text of tables by their ids, and every attribute that could load something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.loads: list[tuple[str, str, str]] = []
        self.handlers: list[str] = []
        self.ids: list[str] = []
        self.scripts: list[str] = []
        self._rows: list[list[str]] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = {name: value or "" for name, value in attrs}
        self.ids += [facts["id"]] if "id" in facts else []
        self.handlers += [name for name in facts if name.startswith("on")]
        self.loads += [(tag, name, facts[name]) for name in ("src", "href", "xlink:href", "action") if name in facts]
        if tag == "table":
            self._rows = self.tables.setdefault(facts.get("id", str(len(self.tables))), [])
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
        if tag in ("td", "th", "script"):
            self._inside = tag
            self.scripts += [""] if tag == "script" else []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "script"):
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("td", "th"):
            self._rows[-1][-1] += data
        elif self._inside == "script":
            self.scripts[-1] += data

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.scripts[0])


def rows() -> list[Row]:
    return [*solves(), *failed(), *replays()]


@pytest.fixture(scope="module")
def made() -> Page:
    return render(to_frame(rows()), "A <title> & more")


@pytest.fixture(scope="module")
def read(made: Page) -> Read:
    return Read(made.html)


def test_the_front_says_who_is_best_and_by_how_much(made: Page) -> None:
    answers = re.findall(r'<p class="answer">(.*?)</p>', made.html)
    assert len(answers) == 2
    assert answers[1].startswith(
        "At 1 s, exact has the smallest mean primal gap on knapsack (0.00\u00a0% over 8 instances)."
    )
    assert re.search(r"The difference to walk \(\d\.\d\d\u00a0%\) is significant \(p = 0\.\d+\)\.$", answers[1])


def lead_of(rows: Iterable[Row]) -> str:
    frame = to_frame(rows)
    return lead.sentence(comparison.standings(_scored_frame(frame)), sequences.replayed(frame)).replace("\u00a0", " ")


def test_the_page_opens_with_one_sentence_a_table_and_a_picture_of_each_problem(made: Page, read: Read) -> None:
    (said,) = re.findall(r'<p class="lead">(.*?)</p>', made.html)
    assert re.fullmatch(
        r"On knapsack, at 1 s, exact comes closest to the best known values: a mean gap of 0\.00\u00a0% over "
        r"8 instances, against \d\.\d\d\u00a0% for walk, the next \(a significant difference\); "
        r"on lublin, sjf-easy has the lowest mean bounded slowdown of 2 policies: 4\.00, against 10\.0 "
        r"under fcfs, the next\.",
        said,
    )
    front, folded = made.html.split("<details", 1)
    assert front.index(said) < front.index("<table") < front.index('aria-label="Mean primal gap over time')
    assert (front.count("<table"), front.count("<figure>"), folded.count("<figure>")) == (1, 2, 9)
    head, knapsack, lublin = read.tables["answer"]
    assert head == ["Problem", "Best", "2nd", "3rd", "Lead of the best"]
    assert knapsack[0] == "knapsack1 s, 8 instances"
    assert knapsack[1] == "★ best: exact0.00 %, 100 % proved"
    assert re.fullmatch(r"walk\d\.\d\d %, no proof", knapsack[2])
    assert knapsack[4:] == ["significant1 more below"], "what failed is not among the best"
    assert lublin == ["lublinmean bounded slowdown", "★ best: sjf-easy4.00", "fcfs10.0", "", ""]
    assert made.pictures[1].alt == "Mean bounded slowdown of the best policies. lublin: sjf-easy 4.00, fcfs 10.0."


def test_a_page_of_replays_opens_with_a_picture_too() -> None:
    page = render(to_frame(replays()))
    assert [picture.name for picture in page.pictures] == ["policies"]
    assert 'aria-label="Mean bounded slowdown' in page.html.split("<details", 1)[0]


def test_all_else_is_folded_below_a_line_that_says_what_is_inside(made: Page) -> None:
    inside = re.findall(r'<summary><h2>(.*?)</h2> <span>(.*?)</span></summary>\n<div id="(.*?)">', made.html)
    assert inside == [
        (
            "Problem: knapsack",
            "4 solvers on 8 instances: all figures with 95 % limits, 7 pictures, every two solvers",
            "problem-knapsack",
        ),
        ("Window sequences", "all metrics of the policies on lublin", "sequences"),
        ("Instance by instance", "values and bounds over time of each run, and a table of all 102 runs", "instances"),
        (
            "Failures and overshoots",
            "5 runs failed, 1 refused, time past the budget of each solver",
            "failures",
        ),
        ("Runs and machines", "dates and loads, sets, solvers and their parameters, machines, versions", "what"),
        ("How to read this", "gaps, integrals, limits and tests in a line each", "reading"),
    ]
    assert made.html.count('<details class="part">') == len(inside)


def test_warnings_beyond_a_few_are_folded() -> None:
    page = render(to_frame(replays()), notes=[f"note {i}" for i in range(7)])
    shown, folded = page.html.split("<summary>3 more</summary>")
    assert "<li>note 3</li>" in shown
    assert "<li>note 4</li>" in folded


def test_solvers_of_one_line_are_named(made: Page) -> None:
    level = {"a": [0.1, 0.5], "b": [0.1, 0.50001], "c": [0.1, 0.9], "d": [0.1, 0.9], "e": [0.1, 0.7]}
    heights = {name: np.array(line) for name, line in level.items()}
    assert pictures._together(heights, list("abcde")) == " On one line: a, b; c, d."
    assert pictures._together(heights, list("ace")) == ""
    (targets,) = (each for each in made.pictures if each.name == "knapsack-1-s-targets")
    assert targets.caption.endswith(" On one line: faulty, greedy."), "neither reached any"


def test_the_sentence_never_claims_what_the_numbers_do_not_show() -> None:
    assert lead_of(solves(instances=2)).endswith("for walk, the next (too few instances for a test).")
    only = (row for row in solves() if row.name == "exact")
    assert "exact alone answered every instance without a failure, with a mean gap of 0.00 %" in lead_of(only)
    same = (replaced(row, value=1.0, curve=(), bound=None, status="feasible") for row in solves())
    assert "exact, greedy and walk are level with a mean gap of 0.00 % over 8 instances." in lead_of(same)
    even = (
        replaced(row, name=name, spec=name, value=1000.0 - 10 * (i % 2 == place), curve=(), bound=None)
        for i, row in enumerate(solves(instances=50, seeds=1, budgets=(1.0,)))
        for place, name in enumerate(("a", "b"))
        if row.name == "walk" and i < 147
    )
    assert "(a significant difference)" not in lead_of(even)
    many = (row for problem in "abcde" for row in solves(2, 1, (1.0,), problem))
    assert lead_of(many).endswith("; 3 more problems are below.")
    failed_once = [replaced(each, outcome="error", metrics={}) if each.key == "fcfs-2" else each for each in replays()]
    assert lead_of(failed_once) == "On lublin, fewer than two of 2 policies finished every replay."
    assert lead_of(row for row in replays() if row.name == "fcfs") == "On lublin, fcfs alone was replayed."


@pytest.mark.parametrize("outcome", ["crash", "timeout", "memory", "error", "wrong", "refused"])
def test_a_solver_that_failed_or_was_refused_never_leads(outcome: str) -> None:
    assert lead_of(failed()) == "On knapsack, at 1 s, no solver answered every instance without a failure."
    fault = {"outcome": outcome, "status": "unknown", "value": None, "bound": None, "curve": ()}
    once = [replaced(row, **fault) if row.name == "exact" and row.instance == "knapsack0" else row for row in solves()]
    assert " walk comes closest to the best known values" in lead_of(once)
    table = _scored(once)
    assert "among solvers without a failure" not in lead_of(once)
    behind = [
        replaced(row, value=0.7 * row.value, curve=()) if row.name != "exact" and row.value else row for row in once
    ]
    assert "walk comes closest to the best known values among solvers without a failure: a mean" in lead_of(behind)
    assert all(", walk has the smallest mean primal gap" in answer for answer in answers_of_table(table))
    (compared, *_) = comparison.comparison_tables(table)
    assert {row[0].text for row in compared.rows for cell in row if cell.best} == {"walk"}
    for line in lead.rankings(comparison.standings(table), []):
        assert "exact" not in {place.name for place in line.places}


def answers_of_table(scored: Any) -> list[str]:
    return comparison.answers(comparison.standings(scored))


def answers_of(rows: Iterable[Row]) -> list[str]:
    return answers_of_table(_scored(rows))


def test_answers_never_claim_what_the_numbers_do_not_show() -> None:
    few = answers_of_table(_scored(solves(instances=2)))
    assert all("is unknown: they differ on 2 instances" in answer for answer in few)
    alone = answers_of_table(_scored(row for row in solves() if row.name == "exact"))
    assert all(
        answer.endswith("No other solver answered all of these instances without a failure.") for answer in alone
    )
    partly = (row for row in solves() if row.name == "exact" or row.instance == "knapsack0")
    assert all(
        "exact has the" in told and told.endswith("all of these instances without a failure.")
        for told in answers_of(partly)
    )
    same = (replaced(row, value=1.0, curve=(), bound=None, status="feasible") for row in solves())
    assert all("exact, greedy, walk share the smallest" in answer for answer in answers_of_table(_scored(same)))
    # The same gaps on all instances, up and down: no test can tell these two apart.
    even = (
        replaced(row, name=name, spec=name, value=1000.0 - 10 * (i % 2 == place), curve=(), bound=None)
        for i, row in enumerate(solves(instances=16, seeds=1, budgets=(1.0,)))
        for place, name in enumerate(("a", "b"))
        if row.name == "walk"
    )
    (told,) = answers_of_table(_scored(even))
    assert "significant" not in told or "not significant" in told


def test_many_problems_get_a_line_each_at_their_largest_budget() -> None:
    frame = to_frame(row for problem in "abcde" for row in solves(2, 1, (0.1, 1.0), problem))
    lines = lead.rankings(comparison.standings(_scored_frame(frame)), [])
    assert [(line.name, line.under) for line in lines] == [(problem, "1 s, 2 instances") for problem in "abcde"]
    steps = [replaced(row, key=f"{row.key}-steps", stop=Stop(iterations=9)) for row in solves(2, 1, (1.0,))]
    most = [*solves(2, 1, (0.1, 1.0, 5.0, 10.0)), *steps]
    (line,) = lead.rankings(comparison.standings(_scored(most)), [])
    assert line.under == "10 s, 2 instances", "the largest budget in seconds, whatever others there are"


def test_the_table_has_a_line_per_solver_and_budget(read: Read) -> None:
    head, *lines = read.tables["comparison-knapsack"]
    named = [dict(zip(head, line, strict=True)) for line in lines]
    assert {(line["Solver"], line["Budget"]) for line in named} >= {
        (solver, budget) for solver in ("exact", "walk", "greedy") for budget in ("0.1 s", "1 s")
    }
    best = [line for line in named if line["Mean gap [%]"].startswith("★ best: ")]
    assert {line["Solver"] for line in best} == {"exact"}
    (exact,) = (line for line in best if line["Budget"] == "1 s")
    assert exact["Mean gap [%]"] == "★ best: 0.00"
    assert (exact["Mean: 95 %"], exact["Behind: 95 %"], exact["Median: 95 %"]) == (
        "too few", "0.00 to 36.94", "0.00 to 0.00",
    )  # fmt: skip
    assert (exact["Proved [%]"], exact["Runs"], exact["Instances"]) == ("100.00", "16", "8")
    (faulty,) = (line for line in named if line["Solver"] == "faulty")
    assert (faulty["Failed"], faulty["Wrong"], faulty["Refused"]) == ("5", "1", "1")
    assert faulty["Instances"] == "6 (not all)"
    assert {line[1] for line in read.tables["sets-knapsack"][1:]} == {"knapsack-a", "knapsack-b"}


def test_columns_of_failures_are_there_where_a_run_failed() -> None:
    (sound,) = comparison.comparison_tables(_scored(solves(1, 1, (1.0,))))
    assert [column.title for column in sound.columns][-2:] == ["Runs", "Instances"]
    assert sound.note.endswith(" No run failed or was wrong or was refused.")
    refused = [replaced(row, outcome="refused") if row.name == "walk" else row for row in solves(1, 1, (1.0,))]
    (some,) = comparison.comparison_tables(_scored(refused))
    assert [column.title for column in some.columns][-2:] == ["Instances", "Refused"]
    assert some.note.endswith(" No run failed or was wrong.")


def test_pairs_carry_wins_and_losses(read: Read) -> None:
    head, *lines = read.tables["pairs-knapsack"]
    named = [dict(zip(head, line, strict=True)) for line in lines]
    (pair,) = (x for x in named if (x["First"], x["Second"], x["Budget"]) == ("exact", "greedy", "1 s"))
    assert (pair["Wins"], pair["Ties"], pair["Losses"], pair["The first is"]) == ("8", "0", "0", "better")
    assert pair["Mean difference [points]"].startswith("−9.")
    assert re.fullmatch(r"−9\.\d\d to −9\.\d\d", pair["Median: 95 %"])


def test_failures_stand_there_with_their_causes(read: Read) -> None:
    causes = {line[2]: line[5] for line in read.tables["causes"][1:]}
    assert causes["crash"] == EVIL
    assert causes["timeout"] == "ended 5 s past its budget"
    assert set(causes) == {"crash", "timeout", "memory", "error", "wrong", "refused"}
    assert len(read.tables["failed"]) == 1 + 6


def test_nothing_of_the_data_becomes_a_part_of_the_page(made: Page, read: Read) -> None:
    assert "<title>A &lt;title&gt; &amp; more</title>" in made.html
    assert "<img" not in made.html
    assert len(read.scripts) == 2, "the data and the script, and none out of a cause"
    assert read.handlers == []
    assert EVIL in {run["cause"] for each in read.data["instances"] for run in each["runs"]}


def test_nothing_is_loaded_from_anywhere(made: Page, read: Read) -> None:
    for tag, name, value in read.loads:
        assert value.startswith(("data:", "#")), f"{tag} {name}={value[:60]}"
    assert re.findall(r"@import|url\((?!#)", made.html) == []
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', made.html)
    assert policy.startswith("default-src 'none';")
    digest = b64encode(sha256(read.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy.replace("style-src 'unsafe-inline'", "")


def test_ids_are_there_once_and_links_lead_to_them(made: Page, read: Read) -> None:
    assert len(set(read.ids)) == len(read.ids)
    inside = {value[1:] for _, _, value in read.loads if value.startswith("#")}
    inside |= set(re.findall(r"url\(#([^)]*)\)", made.html))
    assert inside <= {*read.ids, "inside"}, "the last one is made by the script"


def test_each_figure_can_be_saved_as_svg_and_pdf(made: Page, read: Read) -> None:
    names = {"gap over time", "targets", "profile", "proofs"}
    assert {picture.name for picture in made.pictures} == {
        *(f"knapsack-{budget}-s-{name.replace(' ', '-')}" for budget in ("0-1", "1") for name in names),
        "policies",
        *(f"overshoot-all-problems-{budget}-s" for budget in ("0-1", "1")),
    }
    links = [value for tag, _, value in read.loads if tag == "a" and value.startswith("data:")]
    assert len(links) == 2 * len(made.pictures)
    kinds = {"data:image/svg+xml": b"<?xml", "data:application/pdf": b"%PDF"}
    for link in links:
        kind, _, content = link.partition(";base64,")
        assert b64decode(content).startswith(kinds[kind])
    assert made.html.count('role="img" aria-label="') == len(made.pictures)
    (alt,) = {p.alt for p in made.pictures if p.name == "knapsack-0-1-s-gap-over-time"}
    assert "exact 0.0 %" in alt


def test_figures_draw_the_best_where_there_are_very_many() -> None:
    many = (
        replaced(row, name=f"s{k:02d}", spec=f"s{k:02d}", value=1000.0 - abs(k - 12), curve=(), bound=None)
        for row in solves(2, 1, (1.0,))
        for k in range(25)
        if row.name == "walk"
    )
    table = _scored(many)
    drawn = pictures._drawn(table)
    assert len(drawn) == pictures.LINES == 14
    assert {f"s{k:02d}" for k in range(6, 19)} <= set(drawn), "s12 is the best, the further from it the worse"


def test_sequences_have_tables_of_their_own(read: Read) -> None:
    head, first, second = read.tables["sequence-lublin"]
    assert head[:4] == ["Policy", "Runs", "Failed", "mean bounded slowdown"]
    assert head[-1] == "utilisation gpu [%]"
    assert first[:3] == ["fcfs", "3", "0"]
    assert first[3] == "10.00 (9.000 to 11.00)"
    assert (head[4], first[4], first[-1]) == ("mean wait [h]", "0.2500", "★ best: 25.00")
    assert second[3].startswith("★ best: 4.000 (")
    solvers = {line[0] for name, table in read.tables.items() if "knapsack" in name for line in table}
    assert not solvers & {"fcfs", "sjf-easy"}


def test_a_policy_that_failed_on_some_seeds_is_not_marked() -> None:
    hard = [replaced(each, outcome="error", metrics={}) if each.key == "sjf-easy-2" else each for each in replays()]
    (table,) = map(sequences.table_of, sequences.replayed(to_frame(hard)))
    marked = {row[0].text for row in table.rows for cell in row if cell.best}
    assert marked == set(), "one is left, which beats nobody"
    assert "those that finished every replay" in table.note


def test_the_table_of_a_sequence_says_that_estimates_are_perfect() -> None:
    perfect = [replaced(each, metrics={**each.metrics, "perfect_estimates": 0.71}) for each in replays()]
    (table,) = map(sequences.table_of, sequences.replayed(to_frame(perfect)))
    assert "PERFECT ESTIMATES: 71.0 % of the jobs ask for exactly their runtime." in table.note
    (table,) = map(sequences.table_of, sequences.replayed(to_frame(replays())))
    assert "PERFECT" not in table.note


def test_a_name_that_stands_for_two_policies_is_distinguished() -> None:
    other = [replaced(each, key=f"{each.key}-2", spec="fcfs:x=2") for each in replays() if each.name == "fcfs"]
    (table,) = map(sequences.table_of, sequences.replayed(to_frame([*replays(), *other])))
    assert [row[0].text for row in table.rows] == ["fcfs (fcfs)", "fcfs (fcfs:x=2)", "sjf-easy"]


def test_single_instances_travel_with_the_page(read: Read) -> None:
    data = read.data
    assert [each["label"] for each in data["instances"]] == [f"made up, number {i}" for i in (0, 2, 4, 6, 1, 3, 5, 7)]
    first = data["instances"][0]
    assert first["best"] == 1000
    run = next(run for run in first["runs"] if data["solvers"][run["solver"]] == "exact")
    assert run["curve"][-1][1:] == [1000, 1000]
    assert data["budgets"] == ["0.1 s", "1 s"]


def test_the_same_rows_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "comparison_pictures", lambda *given: islice(pictures.comparison_pictures(*given), 1))
    frame = to_frame(solves(2, 1, (1.0,)))
    assert render(frame).html == render(frame).html


def test_what_makes_times_incomparable_is_reported() -> None:
    mixed = to_frame(
        [
            *solves(1, 1),
            *solves(1, 1, problem="scas", machine={**MACHINE, "host": "node2"}, code="f00", load=9.0, workers=2),
            *solves(1, 1, problem="csp", versions={"python": "3.12.1", "transom": "0.1.0"}),
        ]
    )
    from transom.report.facts import warnings

    told = " ".join(warnings(mixed))
    for part in (
        "from 2 machines",
        "from 2 states of Transom's code",
        "python (3.11.7, 3.12.1)",
        "6 of 18 runs began on a",
    ):
        assert part in told
    assert warnings(to_frame(solves(1, 1))) == []


def test_a_big_store_gives_a_small_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "comparison_pictures", lambda *_: iter(()))
    curve = tuple((0.001 * step, float(step), 2000.0 - step) for step in range(1, 60))
    many = to_frame(
        row for number in range(15) for row in solves(40, 4, (1.0,), f"kind{number:02d}", curve=curve, outcome="crash")
    )
    assert len(many) == 7_200
    page = render(many)
    assert len(page.html) < 12e6
    data = Read(page.html).data
    assert sum(len(run["curve"]) for each in data["instances"] for run in each["runs"]) <= runs.ALL_STEPS
    assert all(len(run["curve"]) <= runs.STEPS for each in data["instances"] for run in each["runs"])
    assert f"Of 600 instances {len(data['instances'])} are here" in page.html
    assert "The first 300 of 7,200 runs." in page.html
    assert "3 more comparisons have tables, but no figures." in page.html


def test_paths_are_reported_from_their_common_folder_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "comparison_pictures", lambda *_: iter(()))
    paths = ("/data/instances/a/one.jsonl:1", "/data/instances/b/two.jsonl:7")
    some = [replaced(row, label=paths[i % 2]) for i, row in enumerate(solves(2, 1, (1.0,)))]
    html = render(to_frame(some)).html
    assert "/data" not in html
    assert {each["label"] for each in Read(html).data["instances"]} <= {"a/one.jsonl:1", "b/two.jsonl:7"}


def test_a_long_table_is_data_with_its_first_rows_in_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "comparison_pictures", lambda *_: iter(()))
    listed = runs.run_table(_scored(solves(4, 60, (1.0,))))
    assert len(listed.rows) == 720
    read = Read(render(to_frame(solves(4, 60, (1.0,)))).html)
    assert [line[:4] for line in read.tables["all-runs"][1:3]] == [
        ["knapsack", "knapsack-a", "made up, number 0", "exact"]
    ] * 2
    assert len(read.tables["all-runs"]) == 1 + 100
    told = json.loads(read.scripts[1])
    assert told["count"] == 720
    for place, (column, cells) in enumerate(zip(told["columns"], zip(*listed.rows, strict=True), strict=True)):
        at = range(720) if column["at"] is None else column["at"]
        assert [column["texts"][k] for k in at] == [cell.text for cell in cells], place
        sorts = column["sorts"] or column["texts"]
        assert all(sorts[at[k]] in (cell.sort, cell.text) or cell.sort is not None for k, cell in enumerate(cells))


def test_the_table_of_runs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "LISTED", 20)
    listed = runs.run_table(_scored([*solves(4, 2, (1.0,)), *failed()]))
    assert len(listed.rows) == 20
    assert listed.note == "The first 20 of 30 runs, those that failed first."
    assert [row[7].text != "ok" for row in listed.rows] == [True] * 6 + [False] * 14


def test_thinned_curves_keep_their_ends() -> None:
    curve = tuple((0.001 * step, float(step), None) for step in range(500))
    (row, *_) = solves(1, 1, (1.0,))
    data, _ = runs.embedded(_scored([replaced(row, curve=curve)]))
    kept = data["instances"][0]["runs"][0]["curve"]
    assert len(kept) == runs.STEPS
    assert (kept[0], kept[-1]) == ((0.0, 0.0, None), (0.499, 499.0, None))


ODD = {
    "only replays": [*replays()],
    "only failures": [*failed()],
    "no value": [replaced(row, value=None, curve=(), status="unknown", bound=None) for row in solves(2, 1, (1.0,))],
    "one run": [*solves(1, 1, (1.0,))][:1],
    "fronts": [*solves(2, 1, (1.0,), problem="selection")],
    "iterations": [replaced(row, stop=Stop(iterations=100)) for row in solves(2, 1, (1.0,))],
}


@pytest.mark.parametrize("only", ODD.values(), ids=ODD.keys())
def test_any_rows_give_a_page(only: list[Row]) -> None:
    page = render(to_frame(only))
    assert Read(page.html).tables
    assert ">nan" not in page.html
    assert "None" not in page.html.replace("'none'", "")


def test_no_rows_are_an_error() -> None:
    with pytest.raises(DocumentError, match="no runs"):
        render(to_frame([]))


def test_a_figure_is_inline_without_what_would_leak_into_the_page(made: Page) -> None:
    for picture in made.pictures:
        drawing = str(picture.inline)
        assert drawing.startswith('<svg aria-hidden="true"')
        assert "<style" not in drawing
        assert "<metadata" not in drawing
        assert not re.search(rf'id="(?!{picture.name}-)', drawing)


def test_files_of_the_page_are_those_of_the_package() -> None:
    folder = Path(pages.__file__).parent
    assert {path.name for path in folder.iterdir() if path.is_file()} >= {"page.html.j2", "style.css"}
    assert {f"script/{path.name}" for path in (folder / "script").iterdir()} == set(pages.SCRIPT)
    assert "http" not in (folder / "style.css").read_text()
    script = joined(pages.SCRIPT)
    assert set(re.findall(r"https?://[^\"]*", script)) == {"http://www.w3.org/2000/svg"}
    for way_out in ("fetch(", "XMLHttpRequest", "innerHTML", "eval(", "import(", "sendBeacon", "WebSocket"):
        assert way_out not in script


def test_pictures_are_written_whole(made: Page, tmp_path: Path) -> None:
    first, *rest = write_report(tmp_path / "page.html", made, tmp_path / "deep" / "figures")
    assert first.read_text(encoding="utf-8") == made.html
    assert len(rest) == 2 * len(made.pictures)
    assert {path.suffix for path in rest} == {".svg", ".pdf"}
    assert isinstance(made.pictures[0], pictures.Picture)


def _scored(some: Any) -> Any:
    return _scored_frame(to_frame(chain(some)))


def _scored_frame(frame: Any) -> Any:
    from transom.bench.score.score import references, scored

    return scored(frame, references(frame))


def test_an_instance_of_two_sets_is_one_with_all_its_runs() -> None:
    rows = [replaced(each, set="also" if each.name == "walk" else each.set) for each in solves(2, 1, (1.0,))]
    data, left_out = runs.embedded(_scored(rows))
    assert [(each["set"], len(each["runs"])) for each in data["instances"]] == [("also", 3), ("also", 3)]
    assert left_out == ""


def test_a_proof_that_was_contradicted_has_no_ring() -> None:
    true = [row for row in solves(1, 1, (1.0,)) if row.name == "exact"]
    lie = replaced(true[0], key="lie", name="lie", spec="lie", value=1.0, bound=1.0, curve=((0.1, 1.0, 1.0),))
    data, _ = runs.embedded(_scored([*true, lie]))
    assert [run["proved"] for run in data["instances"][0]["runs"]] == [True, False]
    assert "run.proved" in joined(pages.SCRIPT)


def test_wrong_answers_stand_before_whatever_is_more_frequent() -> None:
    many = [replaced(row, key=f"c{k}", seed=k) for k in range(400) for row in failed() if row.outcome == "crash"]
    causes, one_by_one = failures.failures(to_frame([*many, *failed()]))
    assert [row[2].text for row in causes.rows][::5] == ["wrong", "refused"]
    assert one_by_one.rows[0][3].text == "wrong"
