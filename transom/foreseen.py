"""``python -m transom.foreseen``: what users do with the package, on small data.

Printed is which compiled functions Python calls, and with which types of arguments: those are built ahead of time.
Nothing is compiled for that, so that it takes a minute. Before that, a line says how many steps are done, of how many.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from functools import partial
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

from transom import cli, problems, registry
from transom._system.compiling import watched
from transom.errors import TransomError
from transom.io.instances import read_instances
from transom.solving import solve, warm_up
from transom.stop import Stop

_POLICIES = (
    "fcfs",
    "fcfs-easy",
    "fcfs-conservative",
    "sjf-easy",
    "sjf-conservative",
    "saf-easy",
    "f4-easy",
    "wfp3-easy",
    "unicep",
    "bounded-easy",
    "formula-easy:score=[wait-walltime],max_wait=1h",
    "largest-first",
    "random",
    "optimization",
    "nwp",
    "window:solver=dp,objective=wait,size=20",
    "small=window:solver=auto,size=8",
    "mars:min=2,median=5",
    "mars-learned",
)
_SELECTING = ("multisched", "bbsched", "weighted", "constrained", "dot-product", "selection:solver=pareto-dp")
_AGENTS = ("dras-pg", "dras-dql", "decima-pg")
_TREE = "fat-tree:leaf=4,pod=16,nodes=64"
_TASKS = """submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk
0,10.0,1,0.1,1,1,8,0
0,30.0,4,0.2,1,2,3,0
5,12.5,0.5,0.05,2,1,20,0
40,3.0,2,0.3,3,1,6,0
"""
_ANSWERS = """JobId=1 JobState=RUNNING Priority=2 TimeLimit=00:30:00 NumNodes=2 Partition=p NodeList=n[0-1]
JobId=2 JobState=PENDING Priority=2 TimeLimit=00:30:00 NumNodes=4-4 Partition=p SubmitTime=2026-01-01T10:00:00
JobId=3 JobState=PENDING Priority=2 TimeLimit=00:10:00 NumNodes=2-2 Partition=p SubmitTime=2026-01-01T10:01:00
NodeName=n0 State=ALLOCATED CPUTot=4 CPUAlloc=4 Partitions=p
NodeName=n1 State=ALLOCATED CPUTot=4 CPUAlloc=4 Partitions=p
NodeName=n2 State=IDLE CPUTot=4 Partitions=p
NodeName=n3 State=IDLE CPUTot=4 Partitions=p
SwitchName=s0 Nodes=n[0-3]
"""
_PRIORITIES = """PriorityType=priority/multifactor
NodeName=n[0-63] CPUs=1
PartitionName=p Nodes=ALL
"""
_MACHINES = "--machines count=2,cpu=8,memory=1"
_RULES = ("first-fit", "best-fit", "tetris", "tetris-as-coded", "drf", "longest-first", "shortest-first", "random")
_SEARCHED = ("classes", "hard", "selections", "allocations", "fragmented", "paths", "choices")
_TRACE = "generate workload --jobs 120 --nodes 64 --load 0.95 --seed 1 --out"


def commands() -> Iterator[str]:
    """Command lines, without the program's name, in the order that they run in."""
    for trace in ("trace.swf", "trace.swf.gz"):
        yield f"{_TRACE} {trace}"
        yield f"simulate {trace} --policy fcfs-easy --no-figures"
    replay = "simulate trace.swf --no-figures"
    policies = " ".join(f"--policy {each}" for each in _POLICIES)
    yield f"{replay} {policies} --by mode --by size --by week --out replays"
    yield "import swf trace.swf -o trace.parquet"
    yield "simulate trace.parquet --policy fcfs-easy --no-figures"
    yield "report replays -o replays.html"
    yield f"{replay} --jobs 30 {policies} --outages mtbf=1d,mttr=4h --estimates tsafrir"
    yield f"{replay} --jobs 30 --policy fcfs-easy --outages mtbf=1d,mttr=4h --on-failure lose"
    selecting = " ".join(f"--policy {each}" for each in (*_SELECTING, "fcfs-easy", "fcfs-conservative", "saf-easy"))
    yield f"{replay} {selecting} --resources bb=[normal:mean=40,deviation=20,load=0.8],gpu=40"
    yield f"{replay} --jobs 40 {' '.join(f'--policy {each}:anywhere=yes' for each in _AGENTS)}"
    for solver in ("scas-dp", "best-fit", "sequential", "dcas-exact", "free-exact", "dp-polish"):
        yield f"{replay} --policy fcfs-easy --cluster {_TREE} --allocate {solver} --allocate-seconds 0.05"
    yield f"{replay} --policy fcfs-easy --cluster {_TREE} --allocate best-fit --allocate-by job --out placed"
    yield f"{replay} --rules cqsim --policy fcfs-easy --policy sjf-easy"
    yield "simulate trace.swf --rules rlscheduler:sequences=2,length=16 --policy fcfs-easy --policy f1"
    training = all(find_spec(package) for package in ("cma", "torch"))  # of an extra
    drawn = "--sequences 2 --length 16 --policy f1 --policy wfp3"
    if training:
        yield "train kernel trace.swf --generations 1 --pairs 1 --batch 1 --length 16 --validation 2 --out kernel"
        drawn += " --policy kernel:model=kernel/kernel.safetensors"
    yield f"protocol rlscheduler trace.swf {drawn} --policy window:solver=dp,size=8"
    yield f"protocol rlscheduler trace.swf {drawn} --rules textbook --backfill easy"
    for policy in ("fcfs", "fcfs-easy", "fcfs-conservative"):
        yield f"slurm advise answers.txt --policy {policy} --allocate dcas-exact"
    tasks = f"simulate tasks.csv {_MACHINES} --no-figures"
    placing = " ".join(f"--policy {each}" for each in (*_RULES, "window:solver=placement-exact"))
    yield f"{tasks} {placing} --out tasks"
    for policy in ("fcfs-easy", "fcfs-conservative", "wfp3-easy", "wfp3-conservative"):
        yield f"when trace.swf --policy {policy} --job 100"
    yield "check tasks.csv tasks/first-fit"
    yield f"{tasks} --policy learned-priority --policy alone=learned-priority:rollouts=0"
    if training:
        yield f"train learned-priority tasks.csv {_MACHINES} --generations 1 --population 4 --chunks 1 --out priority"
        yield f"train deepjs tasks.csv {_MACHINES} --steps 1 --episodes 2 --out deepjs"
    yield f"{tasks} --policy deepjs"
    rules = ("first-fit", "tetris-as-coded", "learned-priority", "deepjs")
    yield f"{tasks} {' '.join(f'--policy {each}' for each in rules)} --rules cloudsimpy"
    yield f"snapshot trace.swf --every 20000 --limit 4 --cluster {_TREE} --out windows.jsonl"
    yield "simulate trace.swf --jobs 60 --policy slurm-backfill --policy wfp3=slurm-backfill:order=wfp3 --no-figures"
    yield "simulate trace.parquet --jobs 60 --policy slurm-backfill:priority=slurm.conf --no-figures"
    yield "generate workflow --family all --count 5 --tasks 12 --gap 60 --out stream.jsonl"
    yield "simulate stream.jsonl --nodes 4 --policy fcfs-easy --policy wfp3-conservative --out workflows"
    yield "check stream.jsonl workflows"
    yield "solve stream.jsonl --nodes 2 --seconds 0.5"
    yield "check trace.swf.gz replays/fcfs-easy"
    yield "check trace.swf placed/fcfs-easy"
    yield "simulate trace.swf --policy fcfs-easy --policy fcfs --out replays --figures --force"
    yield "generate knapsack --class all --items 40 --out classes.jsonl"
    yield "generate knapsack --class strongly-correlated --items 400 --out hard.jsonl"
    yield "generate knapsack --class windows --items 20 --out jobs.jsonl"
    yield "generate selection --family all --jobs 12 --out selections.jsonl"
    yield "generate tjap --nodes 64 --k 8 --periods 12 --out allocations.jsonl"
    machine = "--nodes 256 --leaf-nodes 4 --pod-nodes 16 --idle 100"
    yield f"generate tjap --family fragmented {machine} --jobs 12 --out fragmented.jsonl"
    yield "generate csp --length 40 --out paths.jsonl"
    yield "generate joint --nodes 64 --jobs 8 --limited 0.3 --out choices.jsonl"
    for file in ("classes", "jobs", "selections", "allocations", "paths", "choices"):
        yield f"solve {file}.jsonl --seconds 0.02 --out {file}.results.jsonl"
        yield f"check {file}.jsonl {file}.results.jsonl"
    yield "solve windows.jsonl --problem selection --seconds 0.1 --decide knee"
    yield "solve windows.jsonl --problem placement --seconds 0.1"


def _searches(file: str) -> None:
    """Every solver on instances of the kinds that it takes."""
    for _, problem in list(read_instances([Path(f"{file}.jsonl")]))[-3:]:
        for name in registry.names(registry.SOLVERS):
            with suppress(TransomError, ImportError):
                solve(problem, name, Stop(seconds=0.1))


def _solvers() -> None:
    for kind in problems.problem_types():
        for name in registry.names(registry.SOLVERS):
            with suppress(TransomError, ImportError):
                warm_up(registry.make(registry.SOLVERS, name, kind.model), kind.model)


def _run(line: str) -> None:
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        status = cli.run(line.split())
    if status:
        raise RuntimeError(f"transom {line}: {said.getvalue()}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, chdir(folder), watched() as seen:
        Path("tasks.csv").write_text(_TASKS)
        Path("answers.txt").write_text(_ANSWERS)
        Path("slurm.conf").write_text(_PRIORITIES)
        steps: list[Callable[[], None]] = [_solvers]
        steps += [partial(_run, each) for each in commands()]
        steps += [partial(_searches, each) for each in _SEARCHED]
        for done, step in enumerate(steps, 1):
            step()
            print(done, len(steps), flush=True)
    json.dump(seen, sys.stdout)
