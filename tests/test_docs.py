"""What README and docs show is what comes out: blocks run and print what stands below them, or say why they do not."""

from __future__ import annotations

import gzip
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import result_pages
from benchmarks.five_commands import commands
from tests.packages import install
from tests.warm_process import COMMANDS, WarmProcess
from transom.cli.app import command_line
from transom.generate import generate_lublin
from transom.traces import write_swf

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
STAND_INS = "<!-- run on stand-in files -->"  # above blocks of sh; :func:`stand_ins` makes what they name
FENCE = re.compile(rf"^({STAND_INS}\n)?```(\w+)\n(.*?)^```\n(?:\s*^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
PACKAGES = {"problems.md": "makespan"}  # of tests/packages, installed for the commands of a page
LEARNED = ("learned-repair.md", "dras.md")  # pages whose commands need the extra of that name
FIRST = ("README.md", "quickstart.md", "operator.md", "student.md", "window.md")  # pages that show all output
WITHOUT = pytest.mark.skipif(find_spec("torch") is None, reason="the extra 'learned' is not installed")


def marks(page: Path) -> list[pytest.MarkDecorator]:
    """Blocks of a page run one after another: some read what those above wrote."""
    group = pytest.mark.xdist_group(f"docs/{page.name}")
    return [group, WITHOUT] if page.name in LEARNED else [group]


BLOCKS = [
    pytest.param(page.name, match[2], match[3], match[4], id=f"{page.name}-{number}", marks=marks(page))
    for page in PAGES
    for number, match in enumerate(FENCE.finditer(page.read_text(encoding="utf-8")), 1)
    if match[1] or match[2] in ("python", "console")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What commands find around them in a checkout, with room for what they write."""
    made = tmp_path_factory.mktemp("checkout")
    for name in ("instances", "examples", "benchmarks"):
        (made / name).symlink_to(ROOT / name)
    for page, package in PACKAGES.items():
        (made / page).mkdir()
        install(package, made / page)
    stand_ins(made)
    return made


def stand_ins(folder: Path) -> None:
    """Write small files under the names that stand in the docs for files of the reader."""
    write_swf(generate_lublin(1300, 64, np.random.default_rng(1), load=0.9), folder / "TRACE.swf.gz")
    (folder / "WINDOWS.jsonl.gz").write_bytes((ROOT / "instances/tjap/code_stream.jsonl.gz").read_bytes())
    windows = gzip.decompress((ROOT / "instances/windows/replay.jsonl.gz").read_bytes())
    (folder / "WINDOW.json").write_bytes(windows.splitlines()[0])
    tasks = [f"{4 * j},{20 + j % 7},{1 + j % 3},0.0{1 + j % 5},{j},1,{1 + j % 6},0" for j in range(1, 61)]
    columns = "submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk"
    (folder / "TASKS.csv.gz").write_bytes(gzip.compress("\n".join([columns, *tasks, ""]).encode()))
    for name in ("montage.json.gz", "epigenomics.json.gz"):
        (folder / name).write_bytes(gzip.compress((ROOT / "examples/wfformat.json").read_bytes()))
    (folder / "windows.csv").write_text("kind,begin,end,nodes,announced\nmaintenance,300000,350000,0-9,200000\n")
    (folder / "sacct.txt").write_text((ROOT / "examples/sacct.txt").read_text().replace("|batch|", "|gpu|"))
    (folder / "nodes.txt").write_text("NodeName=n[1-16] CPUTot=8 RealMemory=1000 State=IDLE\n")
    partitions = [f"PartitionName={name} Nodes=n[1-16] State=UP\n" for name in ("gpu", "debug")]
    (folder / "partitions.txt").write_text("".join(partitions))


Run = Callable[..., str]


@pytest.fixture(scope="session")  # a worker comes back to this file, for another page
def run() -> Iterator[Run]:
    """Runs a command and gives what it prints; each has a process of its own."""
    with ExitStack() as ends:

        @cache
        def warm(*modules: str) -> WarmProcess:
            return ends.enter_context(WarmProcess(modules))

        def run(command: list[str], folder: Path = ROOT, page: str = "") -> str:
            environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
            if page in PACKAGES:
                environment["PYTHONPATH"] = str(folder / page)
            if command[0] == "transom":
                done = warm(*COMMANDS).run(command, folder, environment)
            elif command[0] in ("python", sys.executable) and command[1] in ("-c", "-m"):
                done = warm().run(command, folder, environment)  # which imports nothing of ours in their place
            else:
                done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=900)
            expected = (0, 1) if command[:2] == ["transom", "conform"] else (0,)  # 1: starts differ
            assert done.returncode in expected, done.stderr
            return "\n".join(line.rstrip() for line in done.stdout.splitlines())

        yield run


@pytest.mark.parametrize(("page", "language", "source", "expected"), BLOCKS)
def test_a_block_runs_and_prints_what_is_shown(
    page: str, language: str, source: str, expected: str | None, folder: Path, run: Run
) -> None:
    if language == "python":
        printed = run([sys.executable, "-c", source], folder, page)
        if expected is not None:
            assert printed.strip() == expected.strip()
        return
    if language == "sh":
        for command in (shlex.split(line, comments=True) for line in source.replace("\\\n", " ").splitlines()):
            assert command[0] == "transom"
            run(command, folder, page)
        return
    for command, shown in commands(f"```console\n{source}```"):
        printed = run(shlex.split(command), folder, page).strip()
        if shown:
            assert_shown(shown, printed)


def assert_shown(shown: str, printed: str) -> None:
    """What is shown is what is printed: line breaks, solving times and what stands for a line of three dots aside."""
    shown, printed = (re.sub(r"\d+\.\d{4}$", "TIME", text, flags=re.MULTILINE) for text in (shown, printed))
    parts = re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in parts)
    assert re.fullmatch(pattern, " ".join(printed.split())), f"expected\n{shown}\n\nprinted\n{printed}"


def test_the_first_pages_show_what_their_commands_print() -> None:
    assert {page.name for page in PAGES} >= set(FIRST)
    for param in BLOCKS:
        page, language, source, expected = param.values
        if page in FIRST and language == "python":
            assert expected, f"{param.id}: {source}"
        elif page in FIRST:
            silent = [command for command, shown in commands(f"```console\n{source}```") if not shown]
            assert language == "console", param.id
            assert not silent, f"{param.id}: {silent}"


FENCES = re.compile(r"^(.*)\n```(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
"""What stands before a block, its language and what is inside."""


def unrun() -> Iterator[tuple[str, str, str, str]]:
    """Blocks that no test runs: page, line before, language, content."""
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for before, language, source in FENCES.findall(page.read_text(encoding="utf-8")):
            if language not in ("python", "console"):
                yield page.name, before, language, source


def test_every_block_is_run_or_says_why_not() -> None:
    for page, before, language, source in unrun():
        assert language in ("sh", "text", "toml", "json", "py") or language.startswith("{"), f"{page}: {source}"
        if language == "sh":
            assert before == STAND_INS or re.fullmatch(r"<!-- not run: .+ -->", before), f"{page}: {source}"
        elif language == "text":
            assert not re.match(r"(\$ )?(transom|python|make|pip) ", source), f"{page}: {source}"


def test_commands_stand_in_fences() -> None:
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        outside = FENCES.sub("", page.read_text(encoding="utf-8"))
        assert not re.search(r"^    (transom|python|pip|make|dask) ", outside, re.MULTILINE), page.name


def test_commands_that_are_not_run_have_the_options_they_show() -> None:
    known, checked = command_line(), 0
    for page, _, _, source in (block for block in unrun() if block[2] == "sh"):
        for line in source.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:2] == ["python", "-m"] and words[2].startswith("benchmarks."):
                assert (ROOT / Path(*words[2].split("."))).with_suffix(".py").exists() or find_spec(words[2]), line
            if not words or words[0] != "transom":
                continue
            command: Any = known
            for word in words[1:]:
                command = getattr(command, "commands", {}).get(word, command)
            words = words[: words.index("--")] if "--" in words else words  # what follows is another program's
            options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
            shown = {word.partition("=")[0] for word in words if word.startswith("-")}
            assert command is not known, f"{page}: {line}"
            assert shown <= {*options, "--help"}, f"{page}: {line}: {shown - options}"
            checked += 1
    assert checked > 30


def test_there_are_blocks_to_run() -> None:
    assert any(param.id.startswith("README") for param in BLOCKS)


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_glossary_names_what_is_there() -> None:
    named = re.findall(r"`(transom\.[\w.]+)`", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    assert len(named) > 40
    for name in named:
        if name.startswith("transom.learned") and find_spec("torch") is None:
            continue
        assert pkgutil.resolve_name(name) is not None, name


def test_pages_of_results_are_what_the_stored_rows_say() -> None:
    """Otherwise: python -m benchmarks.result_pages."""
    made = result_pages.pages()
    assert len(made) > 5
    assert set(made) == set((ROOT / "docs" / "results").glob("*.md"))
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, path.name
    kept = {path.name for path in (ROOT / "benchmarks" / "results" / "printed").iterdir()}
    assert kept == set(
        re.findall(r'^file = "(.*)"$', (result_pages.RESULTS / "pages.toml").read_text("utf-8"), re.MULTILINE)
    )


# own_agent.py trains and needs the extra 'learned': tests/test_own_agent.py.
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.name != "own_agent.py"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(example: Path, run: Run) -> None:
    assert run([sys.executable, str(example)])
