"""What the page opens with: one sentence that can be forwarded as it stands, and who comes first on what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from transom._system.wording import counted
from transom.plot import Leader, leaders
from transom.report.comparison import Standing
from transom.report.pictures import Picture, picture
from transom.report.sequences import Replayed, unit
from transom.report.table import anchor, percentage, several, significant
from transom.simulation.output.metrics import known_metrics

PLACES = ("Best", "2nd", "3rd", "4th", "5th")
"""Columns of the first table for solvers or policies."""

TRACES, POLICIES = 8, 4
"""Traces in a picture, and policies of each, at most."""

NAMED = 2
"""Problems or traces that the sentence names at most."""

_SAID = {
    "significant": "significant",
    "insignificant": "not significant",
    "untold": "too few instances",
    "level": "level",
    "contradicted": "next is better on more",
    "alone": "alone answered all",
}
_TESTED = {
    "significant": "a significant difference",
    "insignificant": "not a significant difference",
    "untold": "too few instances for a test",
    "contradicted": "which is better on more instances",
}


def sentence(compared: Sequence[Standing], traces: Sequence[Replayed]) -> str:
    """Who is best at the largest budget of each problem and on each trace, as far as the tests bear it out.

    Parameters
    ----------
    compared : of :func:`transom.report.comparison.standings`.
    traces : of :func:`transom.report.sequences.replayed`.
    """
    ends = [each for each in compared if each.largest]
    clauses = [_solved(each) for each in ends[:NAMED]]
    clauses += [f"{more} more problems are below"] if (more := len(ends) - NAMED) > 0 else []
    clauses += [_replayed(each) for each in traces[:NAMED]]
    clauses += [f"{more} more traces are below"] if (more := len(traces) - NAMED) > 0 else []
    text = "; ".join(clauses) + "."
    return (text[0].upper() + text[1:]).replace(" %", "\u00a0%")


class Place(NamedTuple):
    """Who comes next on a problem or trace, with what figure, how much was proved, and whether nobody is better."""

    name: str
    figure: str
    proved: str
    best: bool


class Ranking(NamedTuple):
    """A line of the first table.

    Parameters
    ----------
    name : of the problem or trace, whose part of the page is ``anchor``.
    under : the budget and the instances, or the metric and the seeds.
    places : the best solvers or policies, one of each of :data:`PLACES` at most.
    more : how many others there are.
    lead : what a test says of the best and the next; empty on traces.
    """

    name: str
    anchor: str
    under: str
    places: list[Place]
    more: int
    lead: str


def rankings(compared: Sequence[Standing], traces: Sequence[Replayed]) -> list[Ranking]:
    """The best solvers at the largest budget of each problem, and the best policies on each trace.

    Parameters are those of :func:`sentence`.
    """
    listed = []
    for each in compared:
        if each.largest:
            met = [line for line in each.lines if line["eligible"]]
            places = [
                Place(line["solver"], f"{percentage(line['gap'])} %", _proved(line["proved"]), line["leads"])
                for line in met[: len(PLACES)]
            ]
            instances = counted(max(line["instances"] for line in each.lines), "instance")
            under = f"{each.under.removeprefix('At ')}, {instances}"
            told = _SAID[each.verdict] if met else "none answered all"
            more = len(each.lines) - len(places)
            listed.append(Ranking(each.problem, anchor("problem", each.problem), under, places, more, told))
    for trace in traces:
        metric, order = trace.ranked()
        means, (title, unit_of, scale) = trace.means(metric), _quantity(metric) if metric else ("no policy", "", 1.0)
        places = [
            Place(each, f"{_figure(means[each] / scale)} {unit_of}".rstrip(), "", means[each] == means[order[0]])
            for each in order[: len(PLACES)]
        ]
        listed.append(Ranking(trace.name, "sequences", title, places, len(trace.policies) - len(places), ""))
    return listed


def pictures_of(traces: Sequence[Replayed]) -> list[Picture]:
    """The best policies on each trace."""
    ranked = [(each, *each.ranked()) for each in traces]
    metrics = [metric for _, metric, _ in ranked if metric]
    if not metrics:
        return []
    metric = metrics[0]
    title, unit_of, _ = _quantity(metric)
    kept = [(trace, order[:POLICIES]) for trace, found, order in ranked if found == metric][:TRACES]
    figures = {trace.name: _policies(trace, metric, order) for trace, order in kept}
    better = "left" if known_metrics()[metric].better == "lower" else "right"
    spelt = "; ".join(
        f"{name}: " + ", ".join(f"{each.name} {_figure(each.gap)} {unit_of}".rstrip() for each in lines)
        for name, lines in figures.items()
    )
    return [
        picture(
            leaders(figures, f"{title} [{unit_of}]" if unit_of else title),
            "policies",
            f"{title.capitalize()} of the best policies on each trace; lines run from the least to the largest of "
            f"the seeds; filled: the best. Further {better} is better.",
            f"{title.capitalize()} of the best policies. {spelt}.",
        )
    ]


def _proved(share: float) -> str:
    return f"{100 * share:.0f} % proved" if share else "no proof"


def _solved(standing: Standing) -> str:
    best, second, verdict = standing.best, standing.second, standing.verdict
    under = f"on {standing.problem}, {standing.under[0].lower()}{standing.under[1:]}"
    if not best:
        return f"{under}, no solver answered every instance without a failure"
    instances = best[0]["instances"]
    over = counted(instances, "instance")
    gap = f"a mean gap of {percentage(best[0]['gap'])} % over {over}"
    if verdict == "level":
        names = [line["solver"] for line in best]
        names += [second["solver"]] if second is not None else []
        return f"{under}, {_listed(names)} are level with {gap}"
    if second is None:
        return f"{under}, {_names(best)} alone answered every instance without a failure, with {gap}"
    against = f"{percentage(second['gap'])} % for {second['solver']}, the next"
    comes = f"{_names(best)} come{'s' * (len(best) == 1)} closest to the best known values{standing.among}"
    return f"{under}, {comes}: {gap}, against {against} ({_TESTED[verdict]})"


def _replayed(trace: Replayed) -> str:
    metric, order = trace.ranked()
    if not metric:
        if len(trace.policies) == 1:
            return f"on {trace.name}, {_listed([*trace.policies])} alone was replayed"
        return f"on {trace.name}, fewer than two of {len(trace.policies)} policies finished every replay"
    title, unit_of, scale = _quantity(metric)
    means = trace.means(metric)
    shown = {policy: f"{_figure(means[policy] / scale)} {unit_of}".rstrip() for policy in order}
    level = [policy for policy in order if means[policy] == means[order[0]]]
    end = "lowest" if known_metrics()[metric].better == "lower" else "highest"
    has = "has" if len(level) == 1 else "share"
    said = f"on {trace.name}, {_listed(level)} {has} the {end} {title} of {len(order)} policies: {shown[order[0]]}"
    rest = order[len(level) :]
    return f"{said}, against {shown[rest[0]]} under {rest[0]}, the next" if rest else said


def _policies(trace: Replayed, metric: str, order: Sequence[str]) -> list[Leader]:
    scale = _quantity(metric)[2]
    drawn: list[Leader] = []
    for policy in order:
        mean, low, high = (trace.policies[policy][metric][each] / scale for each in ("mean", "least", "most"))
        drawn.append(Leader(policy, mean, low, high, not drawn or mean == drawn[0].gap))
    return drawn


def _quantity(metric: str) -> tuple[str, str, float]:
    """A metric in words, its unit, and how much of the stored figure that is."""
    return metric.replace("_", " "), *unit(metric, known_metrics()[metric])


def _figure(value: float) -> str:
    return significant(value, 3)


def _names(lines: Sequence[dict[str, Any]]) -> str:
    return _listed([line["solver"] for line in lines])


def _listed(things: list[str]) -> str:
    if len(things) > 4:
        return several(things, 2)
    return " and ".join([*([", ".join(things[:-1])] if things[1:] else []), things[-1]])
