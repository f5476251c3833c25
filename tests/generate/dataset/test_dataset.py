"""Data sets: the same bytes however they are made, no instance twice, splits that stay, damage that is found."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom._system.process_pool import WorkersLost
from transom.errors import DocumentError, SpecError, TransomError
from transom.generate.dataset import dataset, instance_statistics
from transom.generate.dataset import shards as dataset_shards
from transom.generate.dataset import size as dataset_size
from transom.generate.dataset.check import check_dataset
from transom.generate.dataset.dataset import make_dataset
from transom.generate.dataset.index import read_index
from transom.generate.dataset.instance_statistics import statistics
from transom.generate.dataset.plan import Source, quotas, read_dataset_plan
from transom.generate.dataset.shards import digest_of, read_instances_of
from transom.generate.dataset.workers import on_this_machine
from transom.generate.recipes import recipe, recipes
from transom.models import Allocation, ConstrainedPath, FatTree, Knapsack, Selection
from transom.problems import problem_type
from transom.solvers.auto.features import Features

PLAN = """
format = "transom/dataset/1"
name = "small"
licence = "MIT"
seed = 3
shard = 10
splits = { train = 0.6, test = 0.4 }

[[sets]]
recipe = "knapsack"
count = 35
parameters = { class = ["circle", "subset-sum"], items = 8 }

[[sets]]
name = "repeated"
recipe = "selection"
count = 40
parameters = { family = "ties", jobs = 1, number = 1, largest = 2 }

[[sets]]
name = "counted"
recipe = "csp"
count = 12
parameters = { length = 20, arcs = 3 }
splits = { train = 9, test = 3 }

[[sets]]
name = "stream"
recipe = "tjap"
epochs = 5
parameters = { periods = 6 }

[[sets]]
recipe = "workload"
count = 3
parameters = { jobs = 20, nodes = 16 }
"""


def planned(tmp_path: Path, text: str = PLAN) -> Source:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return read_dataset_plan(path)


def content(folder: Path) -> dict[str, bytes]:
    """What a data set holds, but for its records."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".shards" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def held(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Digest and split of the instances of each set, in the order of the files."""
    found: dict[str, list[tuple[str, str]]] = {}
    for file in read_index(folder / "dataset.json").files:
        for instance in read_instances_of(folder / file.path):
            found.setdefault(file.set, []).append((digest_of(instance), file.split))
    return found


def backwards(function: Callable[[int], bytes], items: Iterable[int]) -> Iterator[bytes]:
    return map(function, reversed(list(items)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Source, Path]:
    folder = tmp_path_factory.mktemp("made")
    source = planned(folder)
    make_dataset(source, folder / "data")
    return source, folder / "data"


def test_what_is_there(made: tuple[Source, Path]) -> None:
    source, folder = made
    index = read_index(folder / "dataset.json")
    assert index.digest == source.digest()
    assert list(check_dataset(folder)) == [None] * len(index.files)
    found = held(folder)
    # Every instance is one of the recipe's, and all of them are there.
    for of in source.plan.sets:
        units = source.made_by(of)
        numbers = range(1, (of.count or of.epochs or 0) + 1)
        wanted = {digest_of(each) for number in numbers for each in units.block(source.seed_of(of), number)}
        assert {digest for digest, _ in found[of.called]} == wanted
        assert len(found[of.called]) == len(wanted)
    everything = [digest for of in found.values() for digest, _ in of]
    assert len(everything) == len(set(everything)) == index.count
    tally = {each.name: each for each in index.sets}
    assert tally["repeated"].removed == 40 - len(found["repeated"]) > 0
    assert tally["repeated"].statistics["jobs"].number == len(found["repeated"])
    assert Counter(split for _, split in found["counted"]) == {"train": 9, "test": 3}
    assert len(found["workload"]) == 3
    assert {split for _, split in found["knapsack"]} == {"train", "test"}


def test_epochs_stay_together(made: tuple[Source, Path]) -> None:
    source, folder = made
    of = source.plan.sets[3]
    split_of = dict(held(folder)["stream"])
    splits = [
        {split_of[digest_of(each)] for each in source.made_by(of).block(source.seed_of(of), number)}
        for number in range(1, 6)
    ]
    assert all(len(each) == 1 for each in splits)
    assert Counter(each.pop() for each in splits) == {"train": 3, "test": 2}


def test_the_bytes_are_the_same_with_any_number_of_workers(made: tuple[Source, Path], tmp_path: Path) -> None:
    source, folder = made
    make_dataset(source, tmp_path / "backwards", backwards)
    make_dataset(source, tmp_path / "two", partial(on_this_machine, 2))
    assert content(tmp_path / "backwards") == content(folder)
    assert content(tmp_path / "two") == content(folder)


def test_splits_stay_when_a_set_grows(made: tuple[Source, Path], tmp_path: Path) -> None:
    _, folder = made
    grown = planned(tmp_path, PLAN.replace("count = 35", "count = 70").replace("shard = 10", "shard = 16"))
    make_dataset(grown, tmp_path / "data")
    before, after = dict(held(folder)["knapsack"]), dict(held(tmp_path / "data")["knapsack"])
    assert len(after) == 2 * len(before)
    assert {digest: after[digest] for digest in before} == before


def test_an_instance_of_two_sets_stands_once_and_in_one_split(tmp_path: Path) -> None:
    twice = PLAN + '\n[[sets]]\nname = "again"\nrecipe = "knapsack"\ncount = 20\nseed = SEED\n'
    seed = planned(tmp_path).seed_of(planned(tmp_path).plan.sets[0])
    twice += 'parameters = { class = ["circle", "subset-sum"], items = 8 }\n'
    index = make_dataset(planned(tmp_path, twice.replace("SEED", str(seed))), tmp_path / "data")
    assert index.sets[-1].removed == 20
    assert index.sets[-1].splits == {}
    assert [each for each in check_dataset(tmp_path / "data") if each] == []


def test_shares_are_about_kept(tmp_path: Path) -> None:
    text = PLAN.partition("[[sets]]")[0] + '[[sets]]\nrecipe = "knapsack"\ncount = 2000\nparameters = { items = 3 }'
    index = make_dataset(planned(tmp_path, text.replace("shard = 10", "shard = 700")), tmp_path / "data")
    assert index.sets[0].splits["train"] / index.count == pytest.approx(0.6, abs=0.04)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=5).filter(any), st.integers(1, 50))
def test_quotas_add_up_and_are_near_the_shares(weights: list[int], units: int) -> None:
    shares: dict[str, int | float] = {f"s{i}": weight / sum(weights) for i, weight in enumerate(weights)}
    found = quotas(shares, units)
    assert sum(found.values()) == units
    assert all(abs(found[name] - shares[name] * units) < 1 + 1e-6 for name in shares)


class Broken(Exception):
    pass


def test_what_is_finished_is_not_made_again(
    made: tuple[Source, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, folder = made
    asked: list[int] = []

    def some(function: Callable[[int], bytes], items: Iterable[int]) -> Iterator[bytes]:
        for at in items:
            if len(asked) == 4:
                raise Broken
            asked.append(at)
            yield function(at)

    data = tmp_path / "data"
    with pytest.raises(Broken):
        make_dataset(source, data, some)
    assert not (data / "dataset.json").exists()
    first, asked[:] = list(asked), []
    with pytest.raises(Broken):
        make_dataset(source, data, some)
    assert not set(first) & set(asked)
    make_dataset(source, data)
    assert content(data) == content(folder)

    # Nothing to do; then a file is gone, another one damaged: those two shards alone are made again.
    def none(function: Callable[[int], bytes], items: Iterable[int]) -> Iterator[bytes]:
        asked.extend(items)
        return map(function, list(asked))

    asked.clear()
    make_dataset(source, data, none)
    assert asked == []
    files = read_index(data / "dataset.json").files
    (data / files[0].path).unlink()
    (data / files[-1].path).write_bytes(b"x")
    make_dataset(source, data, none)
    assert asked == [0, len(source.shards()) - 1]
    assert content(data) == content(folder)

    # Other code makes all of it again.
    asked.clear()
    for module in (dataset, dataset_shards):
        monkeypatch.setattr(module, "source_digest", lambda: "0123456789abcdef")
    make_dataset(source, data, none)
    assert asked == list(range(len(source.shards())))


def test_a_shard_that_is_made_again_leaves_out_the_same(made: tuple[Source, Path], tmp_path: Path) -> None:
    source, folder = made
    data = copied(made, tmp_path / "data")
    repeated = [file for file in read_index(data / "dataset.json").files if file.set == "repeated"]
    for file in repeated:
        (data / file.path).unlink()
        make_dataset(source, data)
        assert content(data) == content(folder)


def test_another_plan_is_refused_and_replaced_by_force(made: tuple[Source, Path], tmp_path: Path) -> None:
    data = copied(made, tmp_path / "data")
    (data / "mine.txt").write_text("kept")
    other = planned(tmp_path, PLAN.replace('name = "counted"', 'name = "renamed"'))
    with pytest.raises(DocumentError, match="holds the data set of another plan; --force makes it anew"):
        make_dataset(other, data)
    index = make_dataset(other, data, force=True)
    assert {file.set for file in index.files} == {"knapsack", "repeated", "renamed", "stream", "workload"}
    assert [each for each in check_dataset(data) if each] == []
    assert (data / "mine.txt").read_text() == "kept"


def test_a_published_data_set_is_not_mixed_with_another(made: tuple[Source, Path], tmp_path: Path) -> None:
    data = copied(made, tmp_path / "data")
    shutil.rmtree(data / ".shards")
    other = planned(tmp_path, PLAN.replace('name = "counted"', 'name = "renamed"'))
    with pytest.raises(DocumentError, match="holds the data set of another plan"):
        make_dataset(other, data)
    make_dataset(other, data, force=True)
    assert [each for each in check_dataset(data) if each] == []
    assert not list(data.glob("*/counted*"))


def test_two_at_once_are_refused(made: tuple[Source, Path], tmp_path: Path) -> None:
    source = made[0]

    def meanwhile(function: Callable[[int], bytes], items: Iterable[int]) -> Iterator[bytes]:
        with pytest.raises(DocumentError, match="another process is making a data set here"):
            make_dataset(source, tmp_path / "data")
        return map(function, items)

    make_dataset(source, tmp_path / "data", meanwhile)


def copied(made: tuple[Source, Path], folder: Path) -> Path:
    shutil.copytree(made[1], folder, dirs_exist_ok=True)
    return folder


def packed(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(gzip.compress(change(gzip.decompress(path.read_bytes())), mtime=0))


@pytest.mark.parametrize("what", ["bit", "line", "field", "gone", "added", "moved", "cut", "recompressed", "count"])
def test_damage_is_found(made: tuple[Source, Path], tmp_path: Path, what: str) -> None:
    copied(made, tmp_path)
    path = tmp_path / "train/knapsack-00001.jsonl.gz"
    if what == "bit":
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)
    elif what == "line":
        packed(path, lambda text: text + text.splitlines()[0] + b"\n")
    elif what == "field":
        packed(path, lambda text: text.replace(b'"capacity"', b'"capacitee"', 1))
    elif what == "gone":
        path.unlink()
    elif what == "added":
        (tmp_path / "train/more.jsonl.gz").write_bytes(path.read_bytes())
    elif what == "moved":
        index = read_index(tmp_path / "dataset.json")
        for file in index.files:
            if file.path == "train/knapsack-00001.jsonl.gz":
                file.path, file.split = "test/knapsack-00009.jsonl.gz", "test"
        (tmp_path / "dataset.json").write_bytes(msgspec.json.encode(index))
        path.rename(tmp_path / "test/knapsack-00009.jsonl.gz")
    elif what == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    elif what == "recompressed":
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 1, mtime=0))
    else:
        index = read_index(tmp_path / "dataset.json")
        index.files[0].count += 1
        (tmp_path / "dataset.json").write_bytes(msgspec.json.encode(index))
    said = " ".join(each for each in check_dataset(tmp_path) if each)
    assert {
        "bit": "SHA-256 is",
        "line": "is the same instance as",
        "field": "capacitee",
        "gone": "cannot be read: No such file",
        "added": "more.jsonl.gz: is not listed",
        "moved": "belongs to train, not to test",
        "cut": "SHA-256 is",
        "recompressed": "it has been compressed again",
        "count": "the numbers of instances are",
    }[what] in said


def test_the_digests_of_files_are_theirs(made: tuple[Source, Path]) -> None:
    _, folder = made
    for file in read_index(folder / "dataset.json").files:
        data = (folder / file.path).read_bytes()
        assert (file.sha256, file.content) == tuple(sha256(each).hexdigest() for each in (data, gzip.decompress(data)))


def test_the_card_says_what_is_there(made: tuple[Source, Path]) -> None:
    source, folder = made
    text, index = (folder / "README.md").read_text(), read_index(folder / "dataset.json")
    assert f"{index.count:,} instances of 5 sets" in text
    assert source.digest() in text
    assert "- Licence: MIT" in text
    for tally in index.sets:
        row = [tally.name, tally.recipe, tally.seed, tally.splits["train"], tally.splits["test"], tally.removed]
        assert f"| {' | '.join(map(str, row))} |" in text
    sizes = [len(each) for each in recipe("workload", {"jobs": 20}).make(0, 1)]
    assert sizes == [20]
    assert "| jobs | items, jobs or operation arcs to decide on | 20 | 20 | 20 |" in text


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('format = "transom/dataset/1"', 'format = "transom/dataset/2"', "format 'transom/dataset/2' is not known"),
        ('licence = "MIT"', "", "object missing required field `licence`"),
        ("seed = 3", "seed = -3", "seed: expected `int` >= 0"),
        ("seed = 3", "seed = ", "not TOML"),
        ("train = 0.6", "train = 0.7", "splits: expected shares such as 0.8 that add up to 1"),
        ("train = 9", "train = 8", "sets[2]: splits: the counts add up to 11, the set has 12"),
        ("train = 9", "Train = 9", "sets[2]: splits: expected small letters"),
        ("train = 0.6", "train = nan", "splits"),
        ('name = "stream"', 'name = "../x"', "sets[3]: name: expected small letters"),
        ('name = "stream"', 'name = "knapsack"', "sets[3]: two sets are called 'knapsack'"),
        ("epochs = 5", "count = 5", "sets[3]: its instances come in epochs: state epochs, not count"),
        ("count = 35", "epochs = 35", "sets[0]: its instances are independent: state count, not epochs"),
        ("count = 35", "count = 0", "sets[0].count: expected `int` >= 1"),
        ("items = 8", "itens = 8", "sets[0]: unknown parameter of recipe 'knapsack': 'itens'"),
        ('recipe = "csp"', 'recipe = "cps"', "sets[2]: unknown recipe 'cps'; did you mean 'csp'?"),
        ("items = 8", "itmes = 8", "did you mean 'items'?"),
        ("periods = 6", "preiods = 6", "sets[3]: unknown parameter of recipe 'tjap'"),
        ("jobs = 20, nodes", 'model = "trace", like = "a.swf", nodes', "a.swf: cannot be read: No such file"),
    ],
)
def test_bad_plans(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in PLAN
    with pytest.raises(TransomError) as told:
        planned(tmp_path, PLAN.replace(old, new, 1))
    assert says in str(told.value)
    assert str(told.value).startswith(str(tmp_path / "plan.toml"))
    assert "\n" not in str(told.value)


def test_a_plan_is_reported_by_what_its_traces_hold(tmp_path: Path) -> None:
    from transom.traces import write_swf

    text = PLAN.partition("[[sets]]")[0] + '[[sets]]\nrecipe = "window"\nepochs = 1\n'
    text += 'parameters = { workload = { model = "trace", like = "a.swf" }, every = 7200 }\n'
    digests = []
    for seed, place in ((1, "x"), (1, "y"), (2, "z")):
        folder = tmp_path / place
        folder.mkdir()
        write_swf(next(recipe("workload", {"jobs": 60, "nodes": 16, "load": 0.9}).make(seed, 1)), folder / "a.swf")
        digests.append(planned(folder, text).digest())
    assert digests[0] == digests[1] != digests[2]
    index = make_dataset(planned(tmp_path / "x", text), tmp_path / "data")
    assert index.count > 0
    assert "Trace: `a.swf`" in (tmp_path / "data/README.md").read_text()
    with pytest.raises(DocumentError, match="such a trace gives 1"):
        planned(tmp_path / "x", text.replace("epochs = 1", "epochs = 2"))


def _dies_at_first(folder: str, item: int) -> bytes:
    tries = len(list(Path(folder).glob(f"{item}.*")))
    Path(folder, f"{item}.{tries}").touch()
    if item == 3 and not tries:
        os.kill(os.getpid(), signal.SIGKILL)
    return str(item).encode()


def _dies(item: int) -> bytes:
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _refuses(folder: str, item: int) -> bytes:
    Path(folder, str(item)).touch()
    raise DocumentError(f"item {item} is none")


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    found = list(on_this_machine(2, partial(_dies_at_first, str(tmp_path)), range(8)))
    assert sorted(found) == [str(item).encode() for item in range(8)]
    assert len(list(tmp_path.glob("3.*"))) == 2


def test_a_worker_that_always_dies_is_reported() -> None:
    with pytest.raises(WorkersLost, match="shard 2: its worker died 3 times"):
        list(on_this_machine(2, _dies, range(4)))


def test_what_a_worker_refuses_is_reported_and_the_others_end(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="is none"):
        list(on_this_machine(2, partial(_refuses, str(tmp_path)), range(1000)))
    assert len(list(tmp_path.iterdir())) < 1000


def test_numbers_that_only_another_package_knows_stand_in_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = Features({"fill": "weight of all items"}, lambda problem: (float(problem.weights.sum()),))
    own = replace(problem_type("knapsack"), statistics=lambda problem: {"odd": 1.0}, features=facts)
    monkeypatch.setattr(instance_statistics, "problem_type", lambda kind: own)
    monkeypatch.setattr(instance_statistics, "problem_types", lambda: (own,))
    assert statistics(Knapsack([5, 7], [2, 4], 4)) == {"odd": 1.0, "fill": 6.0}
    said = [instance_statistics.meaning(name) for name in ("jobs", "fill", "odd")]
    assert said == ["items, jobs or operation arcs to decide on", "weight of all items", ""]


def test_statistics() -> None:
    knapsack = Knapsack([5, 5, 7], [2, 2, 4], 4)
    assert statistics(knapsack) == {"jobs": 3, "capacity": 4, "load": 2.0, "ties": pytest.approx(2 / 3)}
    selection = Selection([[1, 4], [1, 4], [2, 0]], [8, 4])
    assert statistics(selection) == {
        "jobs": 3, "resources": 2, "objectives": 2, "capacity": 8, "load": 2.0, "ties": pytest.approx(2 / 3),
    }  # fmt: skip
    tree = FatTree.uniform(16, 2, 4)
    found = statistics(Allocation(tree, [0, 1, 2, 5, 6, 9, 10, 11], [2, 2, 3]))
    assert found == {
        "jobs": 3, "capacity": 8, "load": 7 / 8, "ties": pytest.approx(2 / 3), "sizes": 2, "runs": 3,
    }  # fmt: skip
    inf = float("inf")
    path = ConstrainedPath(6, [2, 3], [2, 1], [[1, 1, 1, 1, 1, inf], [1, 1, 1, 1, inf, inf]])
    assert statistics(path) == {
        "jobs": 3, "capacity": 6, "load": 7 / 6, "ties": pytest.approx(2 / 3), "sizes": 2,
    }  # fmt: skip
    workload: Any = next(recipe("workload", {"jobs": 100, "nodes": 64, "load": 0.7}).make(1, 1))
    found = statistics(workload)
    assert (found["jobs"], found["capacity"]) == (100, 64)
    assert found["days"] == pytest.approx((workload.jobs.submit[-1] - workload.jobs.submit[0]) / 86_400)
    window: Any = next(recipe("window", {"workload": {"jobs": 100, "nodes": 64, "load": 2.0}, "minimum": 5}).make(1, 1))
    found = statistics(window)
    assert found["jobs"] == len(window.queue)
    assert found["running"] == len(window.running)
    assert found["capacity"] == window.available[0]


def test_the_plan_of_the_page_and_the_example_are_plans(root: Path, tmp_path: Path) -> None:
    text = (root / "docs/datasets.md").read_text("utf-8").partition("```toml\n")[2].partition("```")[0]
    assert [each.called for each in planned(tmp_path, text).plan.sets] == ["classes", "windows"]
    example = read_dataset_plan(root / "examples/dataset.toml")
    assert {each.recipe for each in example.plan.sets} == set(recipes())


def test_the_size_is_reported_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    source = read_dataset_plan(tmp_path / "plan.toml")
    told: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(dataset, "_begin", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make_dataset(source, tmp_path / "out", announce=told.append)
    units = sum(each.count or each.epochs or 0 for each in source.plan.sets)
    assert told == [f"{units} instances or epochs in {len(source.shards())} shards"]
    monkeypatch.setattr(dataset_size, "_MANY", 0)
    size = dataset_size.dataset_size(source)
    make_dataset(source, tmp_path / "out", announce=told.append)
    assert told[1] == str(size)
    made = sum(path.stat().st_size for path in (tmp_path / "out").glob("*/*.gz"))
    assert size.disk is not None
    assert made / 3 < size.disk < 3 * made


@pytest.mark.parametrize(
    ("size", "says"),
    [
        ((10**14, 10**11, 5e16, 150 * 10**14), "to find repeated ones, 13 PiB of memory are needed, this machine has"),
        ((10**6, 10**3, 2.0**90, 150), "1,000,000 instances or epochs in 1,000 shards, about .* on disk: .* are free"),
    ],
)
def test_a_data_set_that_fits_nowhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int, float, int], says: str
) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.setattr(dataset, "dataset_size", lambda source: dataset_size.DatasetSize(*size))
    with pytest.raises(SpecError, match=says):
        make_dataset(read_dataset_plan(tmp_path / "plan.toml"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
