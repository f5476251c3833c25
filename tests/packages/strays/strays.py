"""Types of problems that lack something, beside one whose package is broken."""

from transom.models.problem import ProblemType


class Bare:
    """No dataclass, and nobody solves it."""

    kind, sense = "bare", "min"

    def trivial(self):
        return None


def of_window(window, objective="nodes"):
    return Bare(), None


BARE = ProblemType(kind="bare", model=Bare, made_from={"window": of_window})
MISNAMED = ProblemType(kind="other", model=Bare)
