"""Types of problems that lack something, beside one whose package is broken."""

from transom.models.problem import ProblemType
from transom.solvers.auto.features import Features


class Bare:
    """No dataclass, and nobody solves it."""

    kind, sense = "bare", "min"

    def trivial(self):
        return None


def of_window(window, objective="nodes"):
    return Bare(), None


FEATURES = Features({"size": "always 1"}, lambda problem: (1.0,))
BARE = ProblemType(kind="bare", model=Bare, made_from={"window": of_window}, features=FEATURES)
MISNAMED = ProblemType(kind="other", model=Bare)
