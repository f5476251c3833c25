"""Plans become runs: every combination once, in random order within an instance."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, product
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bench.faulty import faulty_solvers, knapsack  # noqa: F401  (a fixture)
from transom.bench.plan import instances
from transom.bench.plan.contents import read_contents
from transom.bench.plan.instances import read_set
from transom.bench.plan.plan import InstanceSet, Plan, TraceSet
from transom.bench.plan.task import Task
from transom.bench.plan.tasks import dry_run, expand_plan
from transom.errors import DocumentError, SpecError
from transom.generate.recipes import recipe
from transom.io import decode, write_documents
from transom.models import Allocation, FatTree
from transom.stop import Stop

pytestmark = pytest.mark.usefixtures("faulty_solvers")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ten knapsacks in one file and an allocation in another."""
    folder = tmp_path_factory.mktemp("instances")
    write_documents(folder / "ten.jsonl", (knapsack(6, seed) for seed in range(10)))
    write_documents(
        folder / "tree.json", [Allocation(FatTree([0, 0, 0, 0, 1, 1, 1, 1], [0] * 8), range(8), (2, 3), "static")]
    )
    return folder


def ten(files: Path, **changes: object) -> InstanceSet:
    return msgspec.structs.replace(InstanceSet(files=(str(files / "ten.jsonl"),)), **changes)


def terms(run: Task) -> tuple[object, ...]:
    return run.label, run.name, run.seed, run.stop, run.threads


def test_labels_state_the_settings_that_differ(files: Path, root: Path) -> None:
    trace = TraceSet(file=str(root / "examples/slurm_60.swf"), policies=("mars", "mars:min=16"))
    plan = Plan(instances=(ten(files),), solvers=("sa", "sa:steps=5,final=0.01", "dp"), traces=(trace,))
    named = {run.name: run.spec for run in expand_plan(plan)}
    assert named == {
        "sa": "sa",
        "sa-steps-5-final-0.01": "sa:steps=5,final=0.01",
        "dp": "dp",
        "mars": "mars",
        "mars-min-16": "mars:min=16",
    }


@given(
    solvers=st.sets(st.sampled_from(["a=steady", "b=steady:iterations=2", "greedy", "dp"]), min_size=1),
    seeds=st.sets(st.integers(0, 9), min_size=1, max_size=3),
    seconds=st.sets(st.sampled_from([0.1, 1.0, 5.0]), max_size=2),
    threads=st.sets(st.integers(1, 4), min_size=1, max_size=2),
    take=st.none() | st.integers(1, 12),
)
@settings(max_examples=25)
def test_every_combination_once(
    files: Path, solvers: set[str], seeds: set[int], seconds: set[float], threads: set[int], take: int | None
) -> None:
    plan = Plan(
        instances=(ten(files, take=take),),
        solvers=tuple(solvers),
        seeds=tuple(seeds),
        seconds=tuple(seconds),
        budgets=(Stop(iterations=5),),
        threads=tuple(threads),
    )
    runs = list(expand_plan(plan))
    taken = 10 if take is None else min(take, 10)
    labels = {f"ten.jsonl:{at * 10 // taken + 1}" for at in range(taken)}
    names = {text.partition("=")[0] for text in solvers}
    stops = {*(Stop(seconds=each) for each in seconds), Stop(iterations=5)}
    assert Counter(map(terms, runs)) == Counter(product(labels, names, seeds, stops, threads))
    assert len({run.key() for run in runs}) == len(runs)
    assert len(list(groupby(run.label for run in runs))) == taken  # an instance after the other
    counted = dry_run(plan)
    assert counted.runs() == len(runs)
    assert counted.contents.instances == {"ten": taken}
    assert counted.seconds(grace=2.0) == pytest.approx(sum(run.seconds - run.grace + 2.0 for run in runs))


def test_the_order_is_random_and_settled_by_the_seed(files: Path) -> None:
    plan = Plan(instances=(ten(files),), solvers=("greedy", "dp", "steady"), seeds=(0, 1, 2))
    orders = [
        [(run.name, run.seed) for run in group] for _, group in groupby(expand_plan(plan), key=lambda run: run.label)
    ]
    assert len({tuple(order) for order in orders}) > 5
    assert [*map(terms, expand_plan(plan))] == [*map(terms, expand_plan(plan))]
    other = msgspec.structs.replace(plan, shuffle=1)
    assert [*map(terms, expand_plan(plan))] != [*map(terms, expand_plan(other))]
    assert {run.key() for run in expand_plan(plan)} == {run.key() for run in expand_plan(other)}
    # Where the instance stands in the plan changes nothing.
    alone = msgspec.structs.replace(plan, instances=(ten(files, take=1),))
    assert [(run.name, run.seed) for run in expand_plan(alone)] == orders[0]


def test_instances_are_read_once(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[InstanceSet] = []
    monkeypatch.setattr(instances, "read_set", lambda each: read.append(each) or read_set(each))  # type: ignore[func-returns-value]
    plan = Plan(instances=(ten(files),), solvers=("greedy", "dp"))
    contents = read_contents(plan)
    planned = dry_run(plan, contents=contents)
    assert len(list(expand_plan(plan, contents=contents))) == planned.runs() == 20
    assert len(list(expand_plan(plan))) == 20
    assert len(read) == 2  # by each of both plans


def test_documents_are_the_instances(files: Path) -> None:
    plan = Plan(instances=(ten(files),), solvers=("greedy",), grace=2.0, memory=99, limit=7.0)
    for at, run in enumerate(expand_plan(plan)):
        problem = decode(bytes(run.document), "here")
        assert problem.digest() == knapsack(6, at).digest() == run.instance
        assert (run.grace, run.memory, run.limit, run.problem, run.set) == (2.0, 99, 7.0, "knapsack", "ten")


def test_made_instances_are_those_of_the_recipe() -> None:
    each = InstanceSet(
        name="made",
        generate="knapsack",
        parameters={"class": "weakly-correlated", "items": 12},
        count=4,
        seed=3,
        take=2,
    )
    made = list(recipe("knapsack", {"class": "weakly-correlated", "items": 12}).make(3, 4))
    found = list(read_set(each))
    assert [instance.label for instance in found] == ["made:1", "made:3"]
    assert [instance.problem.digest() for instance in found] == [made[0].digest(), made[2].digest()]


def test_instances_of_recipes_are_counted_without_being_made() -> None:
    made = InstanceSet(name="made", generate="knapsack", parameters={"items": 12}, count=7)
    tree = {"nodes": 128, "k": 8, "periods": 5}
    plan = Plan(
        instances=(
            msgspec.structs.replace(made, take=3),
            msgspec.structs.replace(made, name="all of them"),
            InstanceSet(name="any rule", generate="tjap", parameters=tree, count=2),
            InstanceSet(name="static", generate="tjap", parameters=tree, problem="scas", count=2, seed=1),
        ),
        traces=(TraceSet(generate="workload", parameters={"jobs": 20, "nodes": 8}, policies=("fcfs", "fcfs-easy")),),
        solvers=("greedy", "best-fit"),
        seeds=(0, 1),
    )
    counted, exact = dry_run(plan, contents=read_contents(plan, make=False)), dry_run(plan)
    assert (counted.groups, counted.contents.unsupported) == (exact.groups, exact.contents.unsupported)
    assert counted.contents.instances == exact.contents.instances
    assert counted.contents.instances == {"made": 3, "all of them": 7, "any rule": 2, "static": 2, "workload": 1}
    assert (counted.contents.unmade, exact.contents.unmade) == (
        3 + 7 + 2 + 1,
        0,
    )  # the rule of the other set is known when it is made
    wrong = InstanceSet(name="wrong", generate="knapsack", parameters={"itmes": 12})
    with pytest.raises(SpecError, match="wrong: unknown parameter of recipe 'knapsack': 'itmes'"):
        read_contents(Plan(instances=(wrong,), solvers=("greedy",)), make=False)


def test_solvers_meet_the_kinds_that_they_take(files: Path) -> None:
    both = InstanceSet(name="both", files=(str(files / "ten.jsonl"), str(files / "tree.json")))
    plan = Plan(instances=(both,), solvers=("greedy", "best-fit", "sa"))
    counted = dry_run(plan)
    kinds = {(share.name, share.problem): share.runs() for share in counted.groups}
    assert kinds == {("greedy", "knapsack"): 10, ("best-fit", "scas"): 1, ("sa", "knapsack"): 10, ("sa", "scas"): 1}
    assert {(each.name, each.problem, each.instances) for each in counted.contents.unsupported} == {
        ("greedy", "scas", 1),
        ("best-fit", "knapsack", 10),
    }
    assert Counter((run.name, run.problem) for run in expand_plan(plan)) == kinds
    assert counted.idle() == {}


def test_a_solver_that_takes_nothing_is_named_and_the_others_go_on(files: Path) -> None:
    plan = Plan(instances=(ten(files),), solvers=("best-fit", "greedy"))
    counted = dry_run(plan)
    assert counted.idle() == {"best-fit": "it solves Allocation problems"}
    assert [(share.name, share.runs()) for share in counted.groups] == [("greedy", 10)]
    assert {run.name for run in expand_plan(plan)} == {"greedy"}
    with pytest.raises(SpecError, match="'best-fit' takes nothing in this plan; ten: knapsack: it solves Allocation"):
        dry_run(Plan(instances=(ten(files),), solvers=("best-fit",)))


def test_a_solver_that_takes_some_instances_of_a_kind_meets_all(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import faulty_solvers as installed

    odd = knapsack(6, 4).digest()
    monkeypatch.setattr(installed.Steady, "supports", lambda self, problem: None if problem.digest() == odd else "no")
    plan = Plan(instances=(ten(files),), solvers=("steady",))
    assert len(list(expand_plan(plan))) == 10  # nine of them end as refused


def test_an_instance_of_two_sets_is_run_once(files: Path) -> None:
    again = ten(files, name="again", solvers=("greedy", "dp"))
    plan = Plan(instances=(ten(files, take=5), again, ten(files, name="third")), solvers=("greedy",))
    runs = list(expand_plan(plan))
    assert len({run.key() for run in runs}) == len(runs) == dry_run(plan).runs()
    assert Counter((run.set, run.name) for run in runs) == {
        ("ten", "greedy"): 5,
        ("again", "greedy"): 5,
        ("again", "dp"): 10,
    }


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"solvers": ("a=dp", "b=dp")}, SpecError, "ten: 'a' and 'b' are one solver: dp"),
        ({"solvers": ("dp", "steady:x=1")}, SpecError, "ten: 'steady' has no parameter 'x'"),
        ({"solvers": ("gredy",)}, SpecError, "ten: unknown solver 'gredy'; did you mean 'greedy'"),
        ({"instances": (InstanceSet(files=("absent.json",)),)}, DocumentError, "absent.json: no such file"),
        ({"instances": (InstanceSet(generate="knapsak"),)}, SpecError, "did you mean 'knapsack'"),
        ({"instances": (InstanceSet(name="k", generate="knapsack", parameters={"m": 1}),)}, SpecError, "k: .*'m'"),
        ({"instances": (InstanceSet(generate="workload"),)}, SpecError, r"stand under \[\[traces\]\]"),
        ({"traces": (TraceSet(generate="workload", policies=("fcfs", "absent")),)}, SpecError, "load: unknown policy"),
        ({"traces": (TraceSet(generate="knapsack", policies=("fcfs",)),)}, SpecError, "makes no workloads"),
        ({"traces": (TraceSet(generate="workload", nodes=4, policies=("fcfs",)),)}, SpecError, "nodes"),
        ({"traces": (TraceSet(generate="workload", policies=("a=fcfs", "fcfs")),)}, SpecError, "one policy"),
        ({"traces": (TraceSet(generate="workload", rules="cqsim", policies=("random",)),)}, SpecError, "cqsim rules"),
    ],
)
def test_what_is_wrong_is_reported_before_the_first_run(
    files: Path, changes: dict[str, object], error: type[Exception], words: str
) -> None:
    plan = msgspec.structs.replace(Plan(instances=(ten(files),), solvers=("greedy",)), **changes)
    with pytest.raises(error, match=words):
        expand_plan(plan)  # not even asked for one
