"""Files of outages and laws of failures, and what is said where they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.errors import SpecError, TraceError
from transom.traces.outages import Outage, Outages, outage_card, outages_of, parse_outages

HEADER = "kind,begin,end,nodes,announced\n"


def test_a_file_and_a_law(tmp_path: Path) -> None:
    path = tmp_path / "outages.csv"
    path.write_text(HEADER + "failure,10,20,3-7;12-12,\n\nmaintenance,30,40,5,25\nmaintenance,30,40,5,\ndrain,5,9,2,\n")
    found = parse_outages([str(path), "mtbf=30d,mttr=90m"], 20, "lose")
    assert found.rows == (
        Outage("failure", 10, 20, 6, ((3, 7), (12, 12))),
        Outage("maintenance", 30, 40, 5, (), 25),
        Outage("maintenance", 30, 40, 5),
        Outage("drain", 5, 9, 2),
    )
    drawn = [found.stated(20, seed)[3].ids().tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 2
    assert (found.mtbf, found.mttr, found.on_failure) == (30 * 86_400, 5400, "lose")
    assert outages_of(outage_card(found)) == found


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("crash,1,2,1,", "kind must be failure, drain or maintenance, got 'crash'"),
        ("failure,x,2,1,", "begin must be a whole number of seconds"),
        ("failure,5,5,1,", "end must be > begin = 5 s, got 5"),
        ("failure,5,6,0,", "nodes must be a count > 0 or ids"),
        ("failure,5,6,7-3,", "nodes must be a count > 0 or ids"),
        ("failure,5,6,3-7;5-9,", "states node 5 twice"),
        ("failure,5,6,3-20,", "states node 20, the machine has 0 to 19"),
        ("failure,5,6,21,", "states 21 nodes, the machine has 20"),
        ("failure,5,6,1,4", "a failure is not announced"),
        ("drain,5,6,1,4", "a drain is not announced"),
        ("maintenance,5,6,1,7", "announced must be <= begin = 5 s, got 7"),
        ("maintenance,5,6", "has 3 values, the header 5 columns"),
    ],
)
def test_bad_lines_name_file_line_and_condition(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "outages.csv"
    path.write_text(HEADER + "failure,1,2,1,\n" + line + "\n")
    with pytest.raises(TraceError) as error:
        parse_outages([str(path)], 20)
    assert str(error.value).startswith(f"{path}: line 3: ")
    assert says in str(error.value)


def test_bad_files_and_laws(tmp_path: Path) -> None:
    path = tmp_path / "outages.csv"
    path.write_text("kind,begin\n")
    for text, kind, says in [
        (str(path), TraceError, "line 1: the columns must be kind, begin, end, nodes"),
        (str(tmp_path / "no-outages.csv"), TraceError, "cannot be read"),
        ("mtbf=30d", SpecError, "a law is such as mtbf=30d,mttr=4h"),
        ("mtbf=30d,mttr=long", SpecError, "mttr=long: expected seconds, or a number with a unit: 90, 90s"),
        ("mtbf=0,mttr=1h", SpecError, "mtbf must be at least 1 s"),
    ]:
        with pytest.raises(kind, match="outages") as error:
            parse_outages([text], 20)
        assert says in str(error.value)
    with pytest.raises(SpecError, match="two laws"):
        parse_outages(["mtbf=30d,mttr=4h", "mtbf=30d,mttr=4h"], 20)
    with pytest.raises(SpecError, match="row 1: states 8 nodes, the machine has 4"):
        Outages((Outage("failure", 1, 2, 8),)).stated(4, 0)
