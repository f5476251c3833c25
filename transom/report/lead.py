"""What the page opens with: one sentence that can be forwarded as it stands, and pictures of the leaders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from transom._system.wording import counted
from transom.plot import Leader, leaders
from transom.report.comparison import Standing
from transom.report.pictures import Picture, picture
from transom.report.sequences import Replayed, unit
from transom.report.table import percentage, several, significant
from transom.simulation.output.metrics import known_metrics

PROBLEMS, SOLVERS = 8, 4
"""Problems or traces in a picture, and solvers or policies of each, at most."""

NAMED = 3
"""Problems or traces that the sentence names at most."""

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


def pictures_of(compared: Sequence[Standing], traces: Sequence[Replayed]) -> list[Picture]:
    """The best solvers at the largest budget of each problem, and the best policies on each trace."""
    ends = [each for each in compared if each.largest and each.best][:PROBLEMS]
    gaps = {each.problem: _leaders(each) for each in ends}
    drawn = []
    if gaps:
        drawn.append(
            picture(
                leaders(gaps),
                "leaders",
                "Smallest mean gaps at the largest budget, with 95 % limits where the instances are enough; filled: "
                "the best. Further left is better.",
                f"Mean primal gaps of the best solvers at the largest budget. {_spelt(gaps, percentage, ' %')}.",
            )
        )
    ranked = [(each, *each.ranked()) for each in traces]
    metrics = [metric for _, metric, _ in ranked if metric]
    if metrics:
        metric = metrics[0]
        title, unit_of, _ = _quantity(metric)
        kept = [(trace, order[:SOLVERS]) for trace, found, order in ranked if found == metric][:PROBLEMS]
        figures = {trace.name: _policies(trace, metric, order) for trace, order in kept}
        better = "left" if known_metrics()[metric].better == "lower" else "right"
        drawn.append(
            picture(
                leaders(figures, f"{title} [{unit_of}]" if unit_of else title),
                "policies",
                f"{title.capitalize()} of the best policies on each trace; lines run from the least to the largest of "
                f"the seeds; filled: the best. Further {better} is better.",
                f"{title.capitalize()} of the best policies. {_spelt(figures, _figure, f' {unit_of}')}.",
            )
        )
    return drawn


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


def _leaders(standing: Standing) -> list[Leader]:
    met = [line for line in standing.lines if line["eligible"]][:SOLVERS]
    return [Leader(line["solver"], line["gap"], line["gap_low"], line["gap_high"], line["leads"]) for line in met]


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


def _spelt(groups: dict[str, list[Leader]], shown: Callable[[float], str], unit_of: str) -> str:
    return "; ".join(
        f"{name}: " + ", ".join(f"{each.name} {shown(each.gap)}{unit_of}".rstrip() for each in lines)
        for name, lines in groups.items()
    )


def _figure(value: float) -> str:
    return significant(value, 3)


def _names(lines: Sequence[dict[str, Any]]) -> str:
    return _listed([line["solver"] for line in lines])


def _listed(things: list[str]) -> str:
    if len(things) > 4:
        return several(things, 2)
    return " and ".join([*([", ".join(things[:-1])] if things[1:] else []), things[-1]])
