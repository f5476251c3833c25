"""DeepJS as published, with all controls beside it: Table 2 and figures 4 to 7 of Li and Hu (2019).

    transom train deepjs TASKS.csv.gz --seed 0 --out out/seed-0                (also seeds 1 to 4)
    transom train deepjs TASKS.csv.gz --machines count=10,cpu=64,memory=1 --jobs 200 --out out/ten-machines
    transom train deepjs TASKS.csv.gz --start 50 --jobs 10 --out out/chunk-5
    transom train deepjs TASKS.csv.gz --start 60 --jobs 10 --out out/chunk-6
    transom train deepjs TASKS.csv.gz --update text --network paper --jobs 200 --out out/text
    python -m benchmarks.deepjs TASKS.csv.gz --model out/seed-0 ... --model out/seed-4 --literal out/text
        --apart out/seed-0,out/ten-machines --apart out/chunk-5,out/chunk-6 --figures out/figures --rows out/deepjs.csv

Trainings see chunks 0 to 199, the choice of a network among its snapshots too; tables are of chunks 200 to 519. Figures
made under different event rules stand in tables of their own. An agent counts as its card says, drawing pairs or by
the highest score, whichever was better in training.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.deepjs import figures, fitness, tables
from benchmarks.deepjs.replays import RULES, UNTRAINED, Replays, agents
from transom.traces.tasks import parse_machines, read_tasks

BRIEF = {"learned-priority", *list(UNTRAINED)[1:]}


def main() -> None:
    """Print the tables and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--model", action="append", required=True, help="folder of a training; again for other seeds")
    parser.add_argument("--literal", action="append", default=[], help="folder of a training with --update text")
    parser.add_argument("--apart", action="append", default=[], help="two folders of trainings, with a comma: figure 5")
    parser.add_argument("--figures", help="folder for figures 4 to 7")
    parser.add_argument("--rows", type=Path, help="file of all makespans, from which later runs take what is there")
    parser.add_argument("--first", type=int, default=200)
    parser.add_argument("--last", type=int, default=519)
    parser.add_argument("--factors", default="1.5,2")
    parser.add_argument("--pairs", type=int, default=2000, help="of figure 5")
    asked = parser.parse_args()
    chunks = list(read_tasks(asked.trace, parse_machines(["count=5,cpu=64,memory=1"])).chunks(10))
    test = Replays(chunks[asked.first : asked.last + 1], asked.first, asked.rows)
    print(f"chunks {asked.first} to {asked.first + len(test.chunks) - 1}, five machines of 64 cores")
    trained = agents(asked.model)
    as_told = {name: spec for name, (spec, _) in trained.items()}
    tables.comparison(test, tables.all_policies(trained), "textbook", 1)
    tables.leader(test, as_told, 1)
    tables.bar(tables.table_2(test, as_told, "textbook"))
    tables.figure_7(test, as_told)
    # Rollouts take ten times the time of all others; benchmarks.learned_priority has them with errors.
    beside = {name: spec for name, spec in {**RULES, **UNTRAINED}.items() if name not in BRIEF} | as_told
    for factor in map(float, asked.factors.split(",")):
        tables.comparison(test, beside, "textbook", factor)
        tables.leader(test, as_told, factor)
    tables.comparison(test, beside, "cloudsimpy", 1)
    tables.table_2(test, as_told, "cloudsimpy")
    seen = Replays(chunks[: asked.first], 0, asked.rows)
    tables.figure_4(seen, asked.model)
    tables.literal(test, asked.literal, asked.model[0])
    compared = {" and ".join(Path(each).name for each in pair.split(",")): pair.split(",") for pair in asked.apart}
    pairs = {name: (one, other) for name, (one, other) in compared.items()}
    found = fitness.correlations(test.chunks[0], pairs, asked.pairs) if pairs else []
    if asked.figures:
        out = Path(asked.figures)
        out.mkdir(parents=True, exist_ok=True)
        figures.sliding(seen, asked.model[0], out)
        figures.test_set(test, next(iter(as_told.values())), out)
        figures.statistics(test, as_told, out)
        if found:
            figures.fitness(found, out)


if __name__ == "__main__":
    main()
