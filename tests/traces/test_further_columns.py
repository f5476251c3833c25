"""Lines with more than the 18 fields of the format: columns by name, sizes and demands out of them, partitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_swf import line, write
from transom.errors import SpecError, TraceError
from transom.generate.instances.replays import equip
from transom.traces import ReadingRules, read_swf
from transom.traces.further_fields import read_fields
from transom.traces.swf_lines import read_lines


def longer(*more: object, **fields: object) -> str:
    """A line with further fields behind the 18."""
    return f"{line(**fields).rstrip()} {' '.join(map(str, more))}\n"


JOBS = longer(3, "k40", 1.5, f1=1) + longer(-1, "a,b", -1, f1=2, f2=5, f8=4) + longer(7, "?", 2, f1=4, f2=9)
NAMED = "; MaxProcs: 64\n; Columns: gpus model, energy\n"


def test_further_fields_are_read_by_number_and_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, NAMED + JOBS)
    workload = read_swf(path)
    assert workload.jobs.nodes.tolist() == [2, 4, 2]
    found = read_fields(path, [19, "gpus", "Energy", "column21", "requested-processors"], workload.jobs.id)
    assert [found[each].tolist() for each in found] == [[3, -1, 7]] * 2 + [[1.5, -1, 2]] * 2 + [[2, 4, 2]]
    plain = read_fields(write(tmp_path, "; MaxProcs: 64\n" + JOBS), ["column19"], workload.jobs.id)
    assert plain["column19"].tolist() == [3, -1, 7]


def test_names_behind_the_first_job_come_too_late(tmp_path: Path) -> None:
    path = str(write(tmp_path, longer(3, f1=1) + "; Columns: a b c\n" + longer(4, f1=2)))
    assert read_lines(path, [19]).whole[0].tolist() == [3, 4]
    with pytest.raises(SpecError, match="no field 'a'"):
        read_lines(path, ["a"])


def test_one_field_asked_for_twice_and_in_two_kinds(tmp_path: Path) -> None:
    path = str(write(tmp_path, JOBS))
    read = read_lines(path, [1, "job-number", 19], [19, "column19", 1])
    assert [column.tolist() for column in read.whole] == [[1, 2, 4], [1, 2, 4], [3, -1, 7]]
    assert [column.tolist() for column in read.real] == [[3.0, -1.0, 7.0], [3.0, -1.0, 7.0], [1.0, 2.0, 4.0]]


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        (NAMED + JOBS, "model", r"line 3: field 20 \(model\) must be a number, got 'k40'"),
        (JOBS, 20, r"line 1: field 20 \(column20\) must be a number, got 'k40'"),
        (JOBS, "gpu", "its lines have no field 'gpu'. Known: 1 to 21, job-number, .*, think-time, column19, column20"),
        (NAMED + JOBS, "gpu", "Known: .*, gpus, model, energy"),
        (line(), 19, "its lines have no field 19. Known: 1 to 18"),
        (JOBS + line(f1=9), 19, "line 4: expected 21 fields as line 1 has, got 18"),
        ("; Columns: gpus\n" + JOBS, 19, "line 2: expected 19 fields by the names in the header, got 21"),
        ("; Columns: gpus\n" + line(), 19, "line 2: expected 19 fields by the names in the header, got 18"),
        ("; Columns: gpus gPUs\n", 19, "line 1: Columns: 'gPUs' stands twice"),
        ("\n; Columns: 3d\n", 19, "line 2: Columns: '3d': expected a name of letters, digits"),
        ("; Columns: column20\n", 19, "line 1: Columns: 'column20': expected a name .* other than column19"),
        ("; Columns: user\n", 19, "line 1: Columns: 'user' is a field of the format"),
    ],
)
def test_what_is_wrong_with_columns(tmp_path: Path, text: str, field: int | str, message: str) -> None:
    with pytest.raises((TraceError, SpecError), match=message):
        read_lines(str(write(tmp_path, text)), [1], [field])


def test_a_field_states_the_size(tmp_path: Path) -> None:
    path = write(tmp_path, NAMED + JOBS)
    workload = read_swf(path, ReadingRules(size_field="gpus"))
    assert workload.jobs.id.tolist() == [1, 4]
    assert workload.jobs.nodes.tolist() == [3, 7]
    assert workload.repairs == {"left out: size unknown or <= 0": 1}
    assert read_swf(path, ReadingRules(size_field="allocated-processors")).jobs.nodes.tolist() == [2, 2, 2]
    assert read_swf(path, ReadingRules(size_field=19)) == workload
    with pytest.raises(SpecError, match="nodes: 'max' does not go with size_field 'gpus'"):
        ReadingRules(nodes="max", size_field="gpus")
    with pytest.raises(TraceError, match=r"field 21 \(energy\) must be a whole number, got '1.5'"):
        read_swf(path, ReadingRules(size_field="energy"))


def test_a_size_in_other_units_than_the_header_needs_the_size_of_the_machine(tmp_path: Path) -> None:
    path = write(tmp_path, "; MaxNodes: 8\n" + NAMED + JOBS)
    told = "the header states 64 processors and 8 nodes, and field 'gpus' may count either"
    with pytest.raises(SpecError, match=told):
        read_swf(path, ReadingRules(size_field="gpus"))
    assert read_swf(path, ReadingRules(size_field="gpus"), nodes=8).cluster.num_nodes == 8
    assert read_swf(path, ReadingRules(size_field="requested-processors")).cluster.num_nodes == 64
    assert read_swf(path, ReadingRules(size_field="Requested-Processors")).cluster.num_nodes == 64


def test_a_column_becomes_a_resource(tmp_path: Path) -> None:
    path = write(tmp_path, NAMED + JOBS)
    for law in ("column:gpus", "column:19", "column:field=gpus", "column:gpus,capacity=9", "column:Column19"):
        workload = equip(read_swf(path), str(path), f"gpu=[{law}]", 0).workload
        assert workload.jobs.demand[:, 0].tolist() == [3, 0, 7]
    memory = equip(read_swf(path), str(path), "memory=[column:requested-processors]", 0)
    assert memory.workload.jobs.demand[:, 0].tolist() == [2, 4, 2]
    with pytest.raises(SpecError, match="its lines have no field 'watts'"):
        equip(read_swf(path), str(path), "gpu=[column:watts]", 0)


def test_zero_runtimes_of_completed_jobs_may_count_as_a_second(tmp_path: Path) -> None:
    text = line(f1=1, f4=0) + line(f1=2, f4=0, f11=5) + line(f1=3, f4=-1) + line(f1=4, f4=0, f9=-1)
    path = write(tmp_path, "; MaxProcs: 9\n" + text)
    workload = read_swf(path, ReadingRules(zero_runtimes="second"))
    assert workload.jobs.id.tolist() == [1, 4]
    assert workload.runtime.tolist() == [1, 1]
    assert workload.jobs.walltime.tolist() == [20, 1]
    assert workload.repairs == {
        "runtime 0 of a completed job, counted as 1 s": 2,
        "left out: runtime unknown or <= 0": 2,
        "walltime taken from the runtime": 1,
    }
    with pytest.raises(TraceError, match="none of its 4 jobs can be used"):
        read_swf(path)


PARTS = "; MaxProcs: 8\n; Partition: 1 batch\n; Partition: 3  gpu  (4 nodes)\n" + "".join(
    line(f1=i, f16=part, f4=10 * i) for i, part in enumerate((1, 1, 3, 3, -1), 1)
)


def test_partitions_that_are_pooled_are_named(tmp_path: Path) -> None:
    workload = read_swf(write(tmp_path, PARTS), ReadingRules(long_runs="keep"))
    assert [(each.number, each.name, each.jobs) for each in workload.partitions] == [
        (-1, "", 0.2),
        (1, "batch", 0.4),
        (3, "gpu", 0.4),
    ]
    assert [each.node_seconds for each in workload.partitions] == [50 / 150, 30 / 150, 70 / 150]
    [remark] = workload.diagnostics
    assert remark.short == "3 partitions as one machine"
    assert "1 batch (40.0 % of the jobs, 20.0 % of the node-seconds); 3 gpu (40.0 %" in remark.text
    assert "unknown (20.0 %" in remark.text
    assert workload.facts["partitions"][2] == {"number": 3, "name": "gpu", "jobs": 0.4, "node_seconds": 70 / 150}
    assert read_swf(write(tmp_path, "; MaxProcs: 8\n" + line(f16=1))).partitions == ()


def test_some_partitions_alone(tmp_path: Path) -> None:
    path = write(tmp_path, PARTS)
    one = read_swf(path, ReadingRules(partitions=("GPU",)), nodes=4)
    assert one.jobs.id.tolist() == [3, 4]
    assert one.repairs["left out: in another partition"] == 3
    assert one.partitions == ()
    assert read_swf(path, ReadingRules(partitions=(3, "1")), nodes=4).jobs.id.tolist() == [1, 2, 3, 4]
    assert len(read_swf(path, ReadingRules(partitions=(-1, 1, 3)))) == 5
    with pytest.raises(SpecError, match=r"no job is in partition 'a'\. Known: -1, 1 batch, 3 gpu"):
        read_swf(path, ReadingRules(partitions=("a",)), nodes=4)
    with pytest.raises(SpecError, match=r"size of the whole machine \(8\), not that of partition gpu: state it"):
        read_swf(path, ReadingRules(partitions=("gpu",)))
