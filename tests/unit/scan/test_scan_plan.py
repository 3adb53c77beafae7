"""Scan plans, and the manifests and delete files that planning does not read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError, UnsupportedError
from sqlext.scan.deletes.deletion_vector_file import DeletedPositions
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import FileScanTask, ScanPlan, deletes_all_rows, plan_scan
from sqlext.spec.expression import AlwaysTrue, Comparison, Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.partition_spec import UNPARTITIONED
from unit.scan.small_table import (
    RecordingIO,
    SmallTable,
    added,
    bounds,
    data_file,
    equality_delete_file,
    position_delete_file,
)

DELETES = ManifestContent.DELETES


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    return SmallTable(tmp_path)


def plan(table: SmallTable, predicate: Predicate | None = None, io: RecordingIO | None = None) -> ScanPlan:
    return plan_scan(
        io or RecordingIO(), table.metadata, table.snapshot(), predicate or AlwaysTrue(), manifests=ManifestCache()
    )


def paths(planned: ScanPlan) -> list[str]:
    return [task.file.file_path for task in planned.tasks]


def test_a_table_without_snapshot_has_no_files(table: SmallTable) -> None:
    planned = plan_scan(RecordingIO(), table.metadata, None, AlwaysTrue(), manifests=ManifestCache())
    assert planned == ScanPlan()


def test_manifests_are_skipped_by_their_summaries(table: SmallTable) -> None:
    table.add_manifest("a.avro", [added(data_file("fa", "a"))], 1)
    table.add_manifest("b.avro", [added(data_file("fb", "b"))], 1)
    table.add_manifest("gone.avro", [added(data_file("fc", "a"))], 1, added_files_count=0)
    io = RecordingIO()
    assert paths(plan(table, Comparison("=", 2, "b"), io)) == ["fb"]
    assert io.opened == ["list.avro", "b.avro"]


def test_delete_manifests_that_cannot_matter_are_not_read(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f", "b"))], 5)
    table.add_manifest("older.avro", [added(position_delete_file("d1", "b"))], 4, DELETES)
    table.add_manifest("elsewhere.avro", [added(position_delete_file("d2", "a"))], 6, DELETES)
    io = RecordingIO()
    assert plan(table, Comparison("=", 2, "b"), io).tasks[0].position_deletes is None
    assert io.opened == ["list.avro", "data.avro"]


def test_only_delete_files_for_planned_files_are_read(table: SmallTable) -> None:
    deletes = [
        position_delete_file(
            table.position_deletes(f"d{number}.parquet", {f"f{number}": [1, 3]}),
            referenced_data_file=f"f{number}",
        )
        for number in (1, 2)
    ]
    data = [data_file("f1", **bounds(1, 5)), data_file("f2", **bounds(6, 9))]
    table.add_manifest("data.avro", map(added, data), 1)
    table.add_manifest("deletes.avro", map(added, deletes), 2, DELETES)
    io = RecordingIO()
    (task,) = plan(table, Comparison("=", 1, 7), io).tasks
    assert task.file.file_path == "f2"
    assert BitMap64.deserialize(task.position_deletes) == BitMap64([1, 3])
    assert task.deleted_rows == 2
    assert "d1.parquet" not in io.opened


@pytest.mark.parametrize("others", [1, 60], ids=["as objects", "as columns"])
def test_the_files_at_some_paths_with_their_deletes(table: SmallTable, others: int) -> None:
    path = table.position_deletes("d.parquet", {"f3": range(10), "g": [2], "o0": [1]})
    files = [data_file("g"), data_file("f3"), data_file("h", "b"), *(data_file(f"o{n}") for n in range(others))]
    table.add_manifest("data.avro", map(added, files), 1)
    table.add_manifest("deletes.avro", [added(position_delete_file(path))], 1, DELETES)
    wanted = {"g", "h", "f3", "none"}
    found = plan_scan(
        RecordingIO(), table.metadata, table.snapshot(), AlwaysTrue(), manifests=ManifestCache(), paths=wanted
    )
    assert [(task.file.file_path, task.deleted_rows) for task in found.tasks] == [("g", 1), ("h", 0)]
    assert found.tasks == tuple(task for task in plan(table).tasks if task.file.file_path in wanted)


def test_bitmaps_of_several_delete_files_are_united(table: SmallTable) -> None:
    deletes = [
        position_delete_file(table.position_deletes("d1.parquet", {"f": [1], "g": [2]})),
        position_delete_file(table.position_deletes("d2.parquet", {"f": [1, 5]})),
    ]
    table.add_manifest("data.avro", [added(data_file("f")), added(data_file("g"))], 1)
    table.add_manifest("deletes.avro", map(added, deletes), 1, DELETES)
    planned = plan(table)
    found = {task.file.file_path: list(BitMap64.deserialize(task.position_deletes)) for task in planned.tasks}
    assert found == {"f": [1, 5], "g": [2]}
    assert planned.record_count == 17


def test_a_file_whose_rows_are_all_deleted_is_left_out(table: SmallTable) -> None:
    path = table.position_deletes("d.parquet", {"f": range(10), "g": range(9)})
    table.add_manifest("data.avro", [added(data_file("f")), added(data_file("g"))], 1)
    table.add_manifest("deletes.avro", [added(position_delete_file(path))], 1, DELETES)
    assert paths(plan(table)) == ["g"]


def test_equality_groups(table: SmallTable) -> None:
    table.add_manifest(
        "data.avro",
        [added(data_file("fa", "a", **bounds(1, 5))), added(data_file("fb", "b", **bounds(6, 9)))],
        1,
    )
    scoped = [equality_delete_file("ea", "a"), equality_delete_file("eb", "b", equality_ids=(2, 1))]
    table.add_manifest("scoped.avro", map(added, scoped), 2, DELETES)
    anywhere = equality_delete_file("e", spec_id=0, partition=(), **bounds(6, 7))
    table.add_manifest("global.avro", [added(anywhere)], 3, DELETES, UNPARTITIONED)
    unused = equality_delete_file("unused", "c")
    table.add_manifest("unused.avro", [added(unused)], 3, DELETES)
    planned = plan(table)
    fa, fb = planned.tasks
    groups = {
        (group.equality_ids, group.is_global): [
            (one.file.file_path, one.sequence_number, one.partition_ordinal) for one in group.files
        ]
        for group in planned.equality_groups
    }
    assert groups == {
        ((1,), False): [("ea", 2, fa.partition_ordinal)],
        ((1, 2), False): [("eb", 2, fb.partition_ordinal)],
        ((1,), True): [("e", 3, None)],
    }
    assert fa.partition_ordinal != fb.partition_ordinal
    assert [planned.equality_groups[number].equality_ids for number in fa.equality_groups] == [(1,)]
    assert {planned.equality_groups[number].is_global for number in fb.equality_groups} == {True, False}
    assert fa.has_equality_deletes


def test_files_written_after_every_delete_have_no_groups(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("old"), 1), added(data_file("new"), 3)], 3)
    table.add_manifest("deletes.avro", [added(equality_delete_file("e"))], 2, DELETES)
    old, new = plan(table).tasks
    assert old.has_equality_deletes
    assert not new.has_equality_deletes


@pytest.mark.parametrize(
    ("file", "feature"),
    [
        (data_file("f.lance", file_format="LANCE"), "LANCE data files (such as f.lance)"),
        (data_file("f", key_metadata=b"k"), "encryption (of the data file f)"),
        (position_delete_file("d.lance", file_format="LANCE"), "LANCE delete files (such as d.lance)"),
        (equality_delete_file("e.lance", file_format="LANCE"), "LANCE delete files (such as e.lance)"),
    ],
)
def test_unsupported_files_are_named_with_their_feature(table: SmallTable, file: ContentFile, feature: str) -> None:
    table.add_manifest("data.avro", [added(file if file.content == 0 else data_file("f"))], 1)
    if file.content:
        table.add_manifest("deletes.avro", [added(file)], 2, DELETES)
    with pytest.raises(UnsupportedError) as error:
        plan(table)
    assert error.value.condition == "UNSUPPORTED_TABLE_FEATURE"
    assert error.value.parameters["feature"] == feature
    assert plan(table, Comparison("=", 2, "other")).tasks == ()


@pytest.mark.parametrize("content", [b"", b"Obj\x01 no avro", None])
def test_lost_and_damaged_manifests_are_named(table: SmallTable, content: bytes | None) -> None:
    table.add_manifest("data.avro", [added(data_file("f"))], 1)
    path = table.folder / "data.avro"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises((NotFoundError, CorruptionError)) as error:
        plan(table)
    assert error.value.parameters["path"] == str(path)


def test_encrypted_manifests_are_refused(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f"))], 1, key_metadata=b"k")
    with pytest.raises(UnsupportedError, match="encryption"):
        plan(table)


def test_manifests_are_decoded_once(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f"))], 1)
    snapshot, io, manifests = table.snapshot(), RecordingIO(), ManifestCache()
    for _ in range(3):
        plan_scan(io, table.metadata, snapshot, AlwaysTrue(), manifests=manifests)
    assert io.opened == ["list.avro", "data.avro"]


def test_manifests_embedded_in_a_version_1_snapshot(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f"))], 1)
    snapshot = table.snapshot()
    embedded = replace(snapshot, manifest_list="", embedded_manifests=(table.manifests[0].path,))
    planned = plan_scan(RecordingIO(), table.metadata, embedded, AlwaysTrue(), manifests=ManifestCache())
    assert paths(planned) == ["f"]


def test_equality_groups_of_all_deletes_are_the_same_for_every_predicate(table: SmallTable) -> None:
    table.add_manifest("data.avro", [added(data_file("f1", **bounds(1, 5))), added(data_file("f2", **bounds(7, 9)))], 1)
    deletes = equality_delete_file("d", spec_id=0, partition=(), **bounds(2, 3))
    table.add_manifest("deletes.avro", [added(deletes)], 2, DELETES, spec=UNPARTITIONED)
    for predicate, touched in [(Comparison("=", 1, 4), [False]), (AlwaysTrue(), [True, False])]:
        assert [task.has_equality_deletes for task in plan(table, predicate).tasks] == touched
    whole = plan_scan(
        RecordingIO(),
        table.metadata,
        table.snapshot(),
        Comparison("=", 1, 4),
        manifests=ManifestCache(),
        with_metrics=False,
        all_deletes=True,
    )
    assert [task.has_equality_deletes for task in whole.tasks] == [True]


@pytest.mark.parametrize(
    ("records", "deleted", "going", "goes"),
    [
        (3, [0, 1], [2], True),
        (3, [0, 9], [1], False),  # a position after the last row is ignored
        (3, [0, 1], [1], False),
        (3, [], [0, 1, 2], True),
        (-1, [0], [1, 2], False),  # unknown record count
    ],
)
def test_a_file_goes_whole_only_with_its_last_row(
    records: int, deleted: list[int], going: list[int], goes: bool
) -> None:
    file = replace(data_file("f"), record_count=records)
    positions = DeletedPositions.of(BitMap64(deleted))
    task = FileScanTask(file, 1, 0, positions.bitmap, positions.count)
    assert deletes_all_rows(task, {"f": BitMap64(going)}) is goes


def test_counts_that_contradict_each_other_hide_no_manifest(table: SmallTable) -> None:
    """Without any counted entry a manifest is read, with only deleted entries it is not."""
    table.add_manifest("data.avro", [added(data_file("f"))], 1)
    table.add_manifest("gone.avro", [added(data_file("g"))], 1)
    (listed, gone) = ManifestCache().manifests(RecordingIO(), table.snapshot())
    none = {"added_files_count": 0, "existing_files_count": 0}
    for counts in ({"deleted_files_count": 0}, {"deleted_files_count": 1, "existing_rows_count": 2}):
        assert replace(listed, **none, **counts).has_live_files
    dead = replace(gone, **none, deleted_files_count=1, added_rows_count=0, existing_rows_count=0)
    assert not dead.has_live_files
    assert replace(dead, added_files_count=None).has_live_files
