"""The best policy for a machine, chosen on its own past and judged on months that it never saw."""

from transom.tune.evaluation import on_cluster, processes
from transom.tune.figures import Figures, figures
from transom.tune.keep import Keep, parse_conditions, parse_keep
from transom.tune.objectives import Objective, parse_objectives
from transom.tune.outcome import Outcome, outcome
from transom.tune.space import Family, Range, read_space
from transom.tune.split import Split, split
from transom.tune.tuned import tuned, write_tuned
from transom.tune.tuning import Chosen, Terms, choose, judge
from transom.tune.walk import Step, over_all, walk

__all__ = [
    "Chosen",
    "Family",
    "Figures",
    "Keep",
    "Objective",
    "Outcome",
    "Range",
    "Split",
    "Step",
    "Terms",
    "choose",
    "figures",
    "judge",
    "on_cluster",
    "outcome",
    "over_all",
    "parse_conditions",
    "parse_keep",
    "parse_objectives",
    "processes",
    "read_space",
    "split",
    "tuned",
    "walk",
    "write_tuned",
]
