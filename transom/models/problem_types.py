"""The types of problems that Transom brings; each is registered as an entry point, as those of other packages are."""

from __future__ import annotations

from dataclasses import replace

from transom.models.allocation import Allocation
from transom.models.joint import Joint
from transom.models.knapsack import Knapsack
from transom.models.placement import Placement
from transom.models.problem import ProblemType
from transom.models.selection import Selection
from transom.models.shortest_path import ConstrainedPath
from transom.models.workflow import Workflow

_STATISTICS = "transom.generate.dataset.instance_statistics"

KNAPSACK = ProblemType(
    kind="knapsack",
    model=Knapsack,
    name="a knapsack",
    plural="knapsacks",
    place=0,
    codec="transom.io.problem_documents:KNAPSACK",
    solution="transom.io.solutions:POSITIONS",
    made_from={"window": "transom.io.posing:knapsack", "line": "transom.io.posing:knapsack_of_line"},
    states="a knapsack states its values",
    statistics=f"{_STATISTICS}:of_knapsack",
    capacity=lambda problem: int(problem.capacity),
    recipes={"knapsack": "transom.generate.instances.knapsack_recipes:recipe_for"},
    examples="transom.generate.instances.examples:knapsacks",
    exact=("dp", "cpsat", "primal-dual"),
)

SELECTION = ProblemType(
    kind="selection",
    model=Selection,
    name="a selection",
    plural="selections",
    about="selections (several resources), for their fronts",
    place=1,
    codec="transom.io.problem_documents:SELECTION",
    solution="transom.io.solutions:FRONT",
    words="transom.io.solution_words:points_document",
    made_from={"window": "transom.io.posing:selection"},
    states="a selection states its objectives",
    faults="transom.io.verify:overclaimed",
    statistics=f"{_STATISTICS}:of_selection",
    capacity=lambda problem: tuple(problem.capacity.tolist()),
    recipes={"selection": "transom.generate.instances.selection_recipes:recipe_for"},
    figure="transom.plot.front:front_figure",
    examples="transom.generate.instances.examples:selections",
    exact=("exhaustive:limit=60", "pareto-dp"),
    fronts=True,
)

SCAS = ProblemType(
    kind="scas",
    model=Allocation,
    name="an allocation",
    plural="allocations",
    about="allocations: scas (static), dcas (dynamic), free",
    place=2,
    document="allocation",
    codec="transom.io.problem_documents:ALLOCATION",
    solution="transom.io.solutions:OWNERS",
    words="transom.io.solution_words:nodes_of_jobs",
    made_from={
        "window": "transom.io.posing:allocation",
        "line": "transom.io.posing:allocation_of_line",
        "allocation": "transom.io.posing:allocation_as_stated",
    },
    statistics=f"{_STATISTICS}:of_allocation",
    capacity=lambda problem: len(problem.idle),
    recipes={"tjap": "transom.generate.instances.tjap_recipes:recipe_for"},
    figure="transom.plot.cluster:allocation_figure",
    examples="transom.io.posing:small_allocations",
    exact=("scas-dp", "scas-cpsat", "scas-lagrangian"),
    relaxed="dcas",
)
DCAS = replace(SCAS, kind="dcas", place=3, exact=("dcas-exact",), relaxed="free")
FREE = replace(SCAS, kind="free", place=4, exact=("free-exact", "free-cpsat"), relaxed=None)

CSP = ProblemType(
    kind="csp",
    model=ConstrainedPath,
    name="a constrained path",
    plural="constrained paths",
    about="constrained shortest paths: csp",
    place=5,
    codec="transom.io.problem_documents:PATH",
    solution="transom.io.solutions:ARCS",
    words="transom.io.solution_words:arcs",
    made_from={
        "window": "transom.io.posing:path",
        "line": "transom.io.posing:path_of_line",
        "allocation": "transom.io.posing:path_of_allocation",
    },
    states="a path states its costs",
    statistics=f"{_STATISTICS}:of_path",
    capacity=lambda problem: int(problem.length),
    recipes={"csp": "transom.generate.instances.csp_recipes:recipe_for"},
    examples="transom.generate.instances.examples:paths",
    exact=("csp-dp", "csp-cpsat"),
)

PLACEMENT = ProblemType(
    kind="placement",
    model=Placement,
    name="a placement",
    plural="placements",
    about="placements of task instances on machines",
    place=6,
    codec="transom.io.problem_documents:PLACEMENT",
    solution="transom.io.solutions:MATRIX",
    words="transom.io.solution_words:machines_of_tasks",
    made_from={
        "window": "transom.io.posing:placement",
        "knapsack": "transom.io.posing:placement_of_knapsack",
        "placement": "transom.io.posing:placement_as_stated",
    },
    states="a placement states its values",
    solver="placement-exact",
    then="local-search",
    statistics=f"{_STATISTICS}:of_placement",
    capacity=lambda problem: len(problem.free),
    recipes={"placement": "transom.generate.instances.placement_recipes:recipe_for"},
    figure="transom.plot.placement:placement_figure",
    examples="transom.generate.instances.examples:placements",
    exact=("placement-exact",),
)

WORKFLOW = ProblemType(
    kind="workflow",
    model=Workflow,
    name="a workflow",
    plural="workflows",
    about="workflows on a machine (resource-constrained project scheduling)",
    place=7,
    codec="transom.io.problem_documents:WORKFLOW",
    solution="transom.io.solutions:STARTS",
    words="transom.io.solution_words:starts_of_tasks",
    made_from={"workflow": "transom.io.posing:workflow_on_machine"},
    states="a workflow states its tasks",
    solver="cpsat",
    statistics=f"{_STATISTICS}:of_workflow",
    capacity=lambda problem: 0 if problem.machine is None else int(problem.machine[0]),
    recipes={"workflow": "transom.generate.instances.workflow_recipes:recipe_for"},
    figure="transom.plot.workflow:workflow_figure",
    examples="transom.generate.instances.examples:workflows",
    exact=("cpsat",),
)

JOINT = ProblemType(
    kind="joint",
    model=Joint,
    name="a joint choice",
    plural="joint choices",
    about="joint choices of the jobs that start and of their nodes",
    place=8,
    codec="transom.io.problem_documents:JOINT",
    solution="transom.io.solutions:OWNERS",
    words="transom.io.solution_words:nodes_of_started",
    made_from={"window": "transom.io.posing:joint"},
    states="a joint choice states its weights and costs",
    solver="joint-cpsat",
    then="joint-search",
    statistics=f"{_STATISTICS}:of_joint",
    capacity=lambda problem: len(problem.idle),
    recipes={"joint": "transom.generate.instances.joint_recipes:recipe_for"},
    examples="transom.generate.instances.examples:joints",
    exact=("joint-cpsat",),
)
