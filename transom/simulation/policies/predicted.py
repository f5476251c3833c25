"""Backfilling by predicted runtimes: EASY++ and the same with other rules and predictors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from numpy.typing import NDArray

from transom import registry
from transom.errors import PolicyError, SpecError
from transom.heuristics.priority_rules import PriorityRule
from transom.models import Window
from transom.simulation.core.decision import Decision
from transom.simulation.core.site_order import load_rule, name_of_rule

if TYPE_CHECKING:
    from transom.simulation.core.replay import Progress, Replay

By = Literal["walltime", "predicted"]


@dataclass(frozen=True, slots=True)
class PredictedBackfill:
    """EASY backfilling in which a job starts ahead if it is predicted to end in time, the shortest predicted first.

    Predictions go from 1 s to the walltime and are made anew for waiting jobs whenever a job has ended. A job that
    outruns its prediction gets a longer one (:data:`~transom.simulation.passes.predicted_backfill.CORRECTIONS`). A
    reservation is no promise: who is predicted too short may delay it. As a whole, with the defaults, it is EASY++.

    Parameters
    ----------
    order : the priority rule, or its specification.
    predict : the predictor, by a specification (:mod:`~transom.heuristics.predictors`).
    reserve : whether the first job that does not fit gets its reservation by predictions of the running jobs or, as
        always beside announced maintenance, by their walltimes.

    Raises
    ------
    SpecError : there is no such rule or predictor, or another ``reserve``.

    References
    ----------
    Tsafrir, Etsion and Feitelson, Backfilling using system-generated predictions rather than user runtime estimates,
    IEEE TPDS 18(6), 2007, sections 3 to 5.
    """

    order: str | PriorityRule = "fcfs"
    predict: str = "recent"
    reserve: By = "predicted"

    def __post_init__(self) -> None:
        load_rule(self.order)
        registry.load(registry.PREDICTORS, registry.parse(self.predict)[0])
        if self.reserve not in get_args(By):
            raise SpecError(f"reserve must be {' or '.join(get_args(By))}, got {self.reserve!r}")

    @property
    def name(self) -> str:
        """What it is called where nobody names it otherwise."""
        return f"{name_of_rule(self.order)}, predicted by {self.predict}"

    def decide(self, window: Window, /) -> Decision:
        """Nothing can be decided over a window alone.

        Raises
        ------
        PolicyError : always; what has ended is known in replays alone.
        """
        raise PolicyError("predictions need what has ended, which is known in replays of traces alone")

    def run(self, replay: Replay, report: Progress) -> dict[str, NDArray[Any]]:
        """Replay to the end of the trace in one compiled loop."""
        from transom.simulation.core.predictions import names_of, new_predictions
        from transom.simulation.passes.predicted_backfill import run_predicted

        predictions = new_predictions(self.predict, replay.jobs, partial(names_of, replay.workload))
        return run_predicted(replay, predictions, self.reserve == "predicted", report)
