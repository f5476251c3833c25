"""Plain text formats of multi-objective knapsacks."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tests.selection_cases import true_front
from transom.errors import DocumentError
from transom.io import encode, read_documents, read_hadi, read_kirlik, read_mokp
from transom.models import Selection

KIRLIK = "2\n3\n10\n[[5, 6, 7],\n[1, 0, 9]]\n[4, 5, 6]\n"
HADI = "3\n10\n8\n-5 -6 -7\n-1 0 -9\n4 5 6\n1 2 3"
TWO = [[5, 1], [6, 0], [7, 9]]


def written(tmp_path: Path, text: str, name: str = "a.dat") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_kirliks_format(tmp_path: Path) -> None:
    expected = Selection([[4], [5], [6]], [10], TWO)
    path = written(tmp_path, KIRLIK)
    assert read_kirlik(path) == read_mokp(path) == expected
    assert list(read_documents(path)) == [(str(path), expected)]
    assert read_kirlik(written(tmp_path, KIRLIK.replace("\n", " \r\n\t"))) == expected
    assert read_kirlik(written(tmp_path, KIRLIK.replace("\n", " ").replace(", ", ","))) == expected
    packed = tmp_path / "b.dat.gz"
    packed.write_bytes(gzip.compress(KIRLIK.encode()))
    assert list(read_documents(packed)) == [(str(packed), expected)]


def test_hadis_format(tmp_path: Path) -> None:
    expected = Selection([[4, 1], [5, 2], [6, 3]], [10, 8], TWO)
    path = written(tmp_path, HADI)
    assert read_hadi(path) == read_mokp(path) == expected
    assert list(read_documents(path)) == [(str(path), expected)]
    assert read_hadi(written(tmp_path, " ".join(HADI.split()))) == expected


@pytest.mark.parametrize("text", ["2 0 5 [[], []] []", "0 5 6"])
def test_files_without_items(tmp_path: Path, text: str) -> None:
    problem = read_mokp(written(tmp_path, text))
    assert (len(problem), len(problem.terms)) == (0, 2)


def test_a_document_of_that_name(tmp_path: Path) -> None:
    problem = Selection([[1]], [1])
    path = written(tmp_path, "\n" + encode(problem).decode())
    assert list(read_documents(path)) == [(str(path), problem)]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("", r"a.dat:1: expected the number of items, got the end of the file"),
        ("[", r"a.dat:1: expected the number of objectives, an integer, got '\['"),
        (KIRLIK.replace("2\n", "0\n", 1), "a.dat:1: the number of objectives must be >= 1, got 0"),
        (KIRLIK.replace("2\n", "3\n", 1), r"a.dat:5: expected ',', got '\]'"),
        (KIRLIK.replace("2\n", "1\n", 1), r"a.dat:4: expected '\]', got ','"),
        (KIRLIK.replace("10", "-1"), "a.dat:3: the capacity must be >= 0, got -1"),
        (KIRLIK.replace("[1, 0,", "[1,"), "a.dat:5: row 2 of the profits are 2 amounts, but there are 3 items"),
        (KIRLIK.replace("[1, 0,", "[1, -1,"), "a.dat:5: an amount in row 2 of the profits must be >= 0, got -1"),
        (KIRLIK.replace("[1, 0,", "[1, 0.5,"), "a.dat:5: expected an amount in row 2 .*, an integer, got '0.5'"),
        (KIRLIK.replace("[4, 5", "[4, -5"), "a.dat:6: an amount in the weights must be >= 0, got -5"),
        (KIRLIK.replace("[4, 5, 6]", "[4, 5"), "a.dat:6: expected ']', got the end of the file"),
        (KIRLIK.replace("[4, 5, 6]", ""), "a.dat:5: expected the weights in brackets, got the end of the file"),
        (KIRLIK + "7", "a.dat:7: expected the end of the file, got '7'"),
        (KIRLIK.replace("5, 6, 7", "5, 6, 7777777777777777777777"), "a.dat:4: 7{22} does not fit into 64 bits"),
        (KIRLIK.replace("5, 6, 7", "5, 6, 9007199254740992"), r"a.dat: selection: the sum of the objectives does not"),
        (HADI.replace("-5", "5"), "a.dat:4: a profit must be <= 0, got 5"),
        (HADI.replace("4 5 6", "4 -5 6"), "a.dat:6: a weight must be >= 0, got -5"),
        (
            HADI.replace("3\n", "4\n", 1),
            "a.dat: 4 items have two profits and two weights each, which is 16 amounts, but 12 ",
        ),
        (HADI.replace("3\n", "2\n", 1), "a.dat: 2 items have two .* which is 8 amounts, but 12 follow"),
        (HADI.replace("8", "8.5"), "a.dat:3: expected capacity 2, an integer, got '8.5'"),
        ("999999999999999999 1 1 -1", "a.dat: 999999999999999999 items .* but 1 follow"),
        (HADI.replace("4 5 6", "4 x 6"), "a.dat:6: expected a weight, an integer, got 'x'"),
        ("\x00\x01\x02\n", "a.dat:1: expected the number of items, an integer"),
    ],
)
def test_damage_is_named(tmp_path: Path, text: str, condition: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DocumentError, match=condition):
        read_mokp(path)
    with pytest.raises(DocumentError, match=condition):
        list(read_documents(path))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no such file"):
        list(read_documents(tmp_path / "none.dat"))


@pytest.mark.reference
def test_the_published_instances(shared: Path) -> None:
    paths = sorted((shared / "instances" / "mokp").glob("*.dat"))
    assert len(paths) > 50
    for path in paths:
        problem = read_mokp(path)
        published = np.loadtxt(path.with_suffix(".front.txt"), ndmin=2)
        if path.name.startswith("kirlik"):
            objectives, items = (int(part[1:]) for part in path.stem.split("_")[1:3])
            assert problem.demands.shape == (items, 1)
            assert problem.objectives.shape == (items, objectives)
            published = -published
        else:
            assert problem.demands.shape == problem.objectives.shape == (len(problem), 2)
        assert (published >= 0).all()
        assert (published <= problem.ceiling).all()
        if len(problem) == 10:
            assert true_front(problem) == {tuple(point) for point in published.astype(int).tolist()}


BERGMAN = "3 2 2\n5 6 7\n1 0 9\n4 5 6 10\n1 2 3 8"


def test_bergmans_format(tmp_path: Path) -> None:
    expected = Selection([[4, 1], [5, 2], [6, 3]], [10, 8], TWO)
    assert read_mokp(written(tmp_path, BERGMAN)) == expected


PATEL = "3 2\n5 6 7\n1 0 9\n4 5 6\n10"


def test_patels_format(tmp_path: Path) -> None:
    expected = Selection([[4], [5], [6]], [10], TWO)
    assert read_mokp(written(tmp_path, PATEL)) == expected
    three = "3 3\n5 6 7\n1 0 9\n1 1 1\n4 5 6\n10"  # as many amounts as Hadi's of three items
    assert len(read_mokp(written(tmp_path, three)).terms) == 3
