"""``transom tune``: the best policy for a machine, chosen on its own past."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transom.cli.options import common as options
from transom.cli.options import completion
from transom.cli.options.digits import DURATION
from transom.cli.options.engine import On, Protection, chosen_cluster, usable_cores
from transom.cli.options.outages import not_replayed
from transom.cli.options.reading import Reading, read_workload
from transom.cli.options.structs import with_structs
from transom.cli.output.console import describe, note, print_json, print_table, progress, remarked
from transom.cli.output.schedule_tables import print_answer

if TYPE_CHECKING:
    from transom.tune.evaluation import Pool
    from transom.tune.search import Score


@with_structs
def command(
    trace: options.Trace,
    today: Annotated[
        str,
        typer.Option(
            "--today",
            metavar="SPEC|logged",
            autocompletion=completion.policies,
            help="The current policy, or the starts that the log states.",
        ),
    ] = "fcfs-easy",
    objective: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            metavar="METRIC",
            help="What to tune for, a metric of simulate. Repeat for up to three: the first one decides. By default, "
            "bounded_slowdown and max_wait.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="CONDITION",
            help="What has to be kept on the tuning part, relative to --today: FIGURE <= FACTOR or FIGURE[GROUP] <= "
            "FACTOR, with bounded_slowdown, wait, max_wait or another metric, and a size class, partition or group "
            "of users. Repeat for several. By default, max_wait <= 1.5.",
        ),
    ] = None,
    test: Annotated[
        float, typer.Option("--test", help="Share of the jobs, the last ones, that are kept for the test.")
    ] = 0.5,
    walk_forward: Annotated[
        float | None,
        typer.Option(
            "--walk-forward",
            metavar=DURATION,
            help="Instead of once, tune again before each so many days of the test part, on all that came before. "
            "--seconds and --evaluations are those of each search.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", metavar=DURATION, help="How long to search. By default 300, without --evaluations."),
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(
            "--evaluations", min=1, help="Number of replays to search with; the same seed then chooses alike."
        ),
    ] = None,
    space: Annotated[
        str,
        typer.Option(
            "--space",
            metavar="default|slurm|FILE",
            help="Where to search: policies, the settings of a slurm.conf that --today "
            "slurm-backfill:priority=slurm.conf names, or a file with families of policies.",
        ),
    ] = "default",
    on: On = "local",
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Number of processes. By default, one for each core.")
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="File for the policy.")] = Path("tuned.toml"),
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Draw the front beside the file, as a PNG, and write a page.")
    ] = True,
    seed: options.Seed = 0,
    json: options.Json = False,
    nodes: options.Nodes = None,
    start: options.Start = 0,
    jobs: options.Jobs = None,
    *,
    protection: Protection,
    reading: Reading,
) -> None:
    """Choose the best policy for a machine on the first part of its trace, and judge it on the rest.

    The search looks for the best first --objective under --keep, and sees nothing of the test part. The policy is
    written to --out, for --policy tuned:file=FILE. All replays are kept in OUT.evaluations.jsonl: the same command
    resumes where it stopped.
    """
    from transom.cli.output.tuned_steps import print_steps
    from transom.errors import SpecError
    from transom.tune.figures import LOGGED
    from transom.tune.keep import parse_conditions
    from transom.tune.objectives import DEFAULT, parse_objectives
    from transom.tune.outcome import outcome
    from transom.tune.slurm_settings import lines_for, slurm_families
    from transom.tune.space import read_space
    from transom.tune.split import split
    from transom.tune.tuned import write_tuned
    from transom.tune.tuning import Terms, choose, fixed_rules, judge
    from transom.tune.walk import walk

    if seconds is not None:
        options.check_positive("--seconds", seconds)
    elif evaluations is None:
        seconds = 300.0
    if not out.parent.is_dir():
        raise SpecError(f"--out {out}: there is no folder {out.parent}")
    if out.is_dir():
        raise SpecError(f"--out {out}: is a folder, expected a file")
    objectives = parse_objectives(objective) if objective else DEFAULT
    of_slurm = space == "slurm"
    families = slurm_families(today) if of_slurm else read_space(space)
    workload = read_workload(trace, nodes, start, jobs, seed=seed, reading=reading)
    for line in (*describe(workload), *not_replayed(workload)):
        note(line)
    parts = split(workload, test)
    conditions = parse_conditions(keep or ["max_wait <= 1.5"], parts.tuning)
    terms = Terms(
        today, conditions, families, seconds, evaluations, seed, workers or usable_cores(), not of_slurm, objectives
    )
    journal, rules = out.with_name(out.name + ".evaluations.jsonl"), fixed_rules()
    about = {
        "trace": trace.name, "today": today, "objectives": [each.name for each in objectives],
        "keep": [str(each) for each in conditions], "seed": seed, "space": space,
    }  # fmt: skip
    with _elsewhere(on, workers, protection) as elsewhere, progress() as bars:
        terms = terms._replace(elsewhere=elsewhere)
        task = bars.add_task("searching", total=None)

        def report(best: Score, policies: int) -> None:
            bars.update(task, completed=policies, description=f"{policies:,} policies, best so far {best.policy}")

        if walk_forward is None:
            chosen = choose(parts.tuning, terms, journal, report)
            write_tuned(out, chosen.policy, about | {"jobs": len(parts.tuning), "tuning_digest": parts.tuning.digest()})
            judged = judge(parts, [today, chosen.policy, *rules, *chosen.front], terms, journal)
        else:
            steps = walk(workload, test, walk_forward, terms, journal, report)
            write_tuned(out, steps[-1].policy, about | {"jobs": steps[-1].before})
    if walk_forward is not None:
        print_steps(workload, steps, terms, json)
        note(f"policy of the last step: --policy tuned:file={out}")
        return
    if chosen.resumed:
        note(f"{chosen.resumed:,} replays are read from {journal}")
    from transom.cli.output.tuned_page import columns, rows, write_page

    told = outcome(parts.test, rules, terms, chosen, judged)
    lines = lines_for(chosen.policy, today) if of_slurm else None
    texts = [] if lines is None else [("In slurm.conf", "\n".join(lines.paste)), ("The change", lines.diff)]
    drawn = [out.with_name(out.stem + end) for end in (".png", ".html")] if figures else []
    if drawn:
        from transom.plot import save
        from transom.tune.picture import front_picture

        save(front_picture(told), drawn[0])
        write_page(drawn[1], told, about, [each for each in texts if each[1]])
    if json:
        print_json(
            {
                "trace": str(trace),
                "jobs": {"train": len(parts.tuning), "test": len(parts.test)},
                "keep": [str(each) for each in conditions],
                "policies": chosen.policies,
                "replays": chosen.replays,
                "out": str(out),
                **({} if lines is None else {"slurm_conf": lines._asdict()}),
                **told.document(),
            }
        )
        return
    print_answer(told.sentences)
    beside = "the log" if today == LOGGED else today
    title = f"{workload.name}: tuned beside {beside} and fixed rules, {chosen.policies:,} policies tried"
    cells = [[cell.text for cell in row] for row in rows(told)]
    print_table(remarked(title, workload), columns(told), cells)
    if lines is not None:
        best = "" if told.noise.better else "no gain beyond the noise; the best that was found, "
        _print_lines(f"{best}in slurm.conf:", lines.paste)
        _print_lines("the change:", lines.diff.splitlines())
    note(f"policy: --policy tuned:file={out}")
    if drawn:
        note(f"figure and page: {drawn[0]}, {drawn[1]}")


def _print_lines(title: str, lines: Sequence[str]) -> None:
    """Print lines below a title, nothing where there are none."""
    if lines:
        print("\n".join([title, "", *lines, ""]))


@contextmanager
def _elsewhere(on: str, workers: int | None, protection: Protection) -> Iterator[Pool | None]:
    """The Dask cluster that evaluates policies while it is open, None for processes of this machine."""
    if on == "local":
        protection.refuse(on)
        yield None
        return
    from transom.bench.run.dask_engine import dask_maps
    from transom.tune.evaluation import on_cluster

    with dask_maps(chosen_cluster(on, workers, 1, protection)) as apply:
        yield on_cluster(apply)
