"""The best policy for a machine, chosen on its own past and judged on months that it never saw."""

from transom.tune.keep import Keep, parse_keep
from transom.tune.space import Family, Range, read_space
from transom.tune.split import Split, split
from transom.tune.tuned import tuned, write_tuned
from transom.tune.tuning import Chosen, Terms, choose, judge
from transom.tune.walk import Step, over_all, walk

__all__ = [
    "Chosen",
    "Family",
    "Keep",
    "Range",
    "Split",
    "Step",
    "Terms",
    "choose",
    "judge",
    "over_all",
    "parse_keep",
    "read_space",
    "split",
    "tuned",
    "walk",
    "write_tuned",
]
