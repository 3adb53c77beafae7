"""What each action makes of a table: rows as PyIceberg reads them, summaries, manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_tables import (
    BY_REGION,
    ORDERS,
    SCHEMA,
    Writer,
    data_file,
    equality_deletes,
    files_below,
    ids_read_by_pyiceberg,
    position_deletes,
    summary_of,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import CommitContext
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.table_creation import CreateTable, ReplaceTable
from sqlext.errors import AlreadyExistsError, UnsupportedError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.expression import Comparison
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestEntry, ManifestFile
from sqlext.spec.manifests.manifest_columns import ManifestColumns
from sqlext.spec.metadata.metadata_update import apply_updates
from sqlext.spec.metadata.table_metadata import new_table_metadata
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema, assign_fresh_ids
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import LongType, NestedField, StringType
from sqlext.storage.file_io import FileIO


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def _manifests(writer: Writer, table: LoadedTable) -> tuple[ManifestFile, ...]:
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    return ManifestCache().manifests(writer.catalog.io, snapshot)


def _entries(writer: Writer, table: LoadedTable) -> list[ManifestEntry]:
    cache = ManifestCache()
    return [
        entry
        for manifest in _manifests(writer, table)
        for entry in cache.entries(writer.catalog.io, manifest, table.metadata)
    ]


def _counters(table: LoadedTable) -> dict[str, str]:
    """The summary without what tells runs and writers apart, and without sizes."""
    ignored = ("engine-name", "engine-version", "sqlext.commit-id")
    return {k: v for k, v in summary_of(table).items() if k not in ignored and not k.endswith("-size")}


def test_an_append_writes_three_files_and_reads_one_list(tmp_path: Path, writer: Writer) -> None:
    table = writer.append(1, base=writer.create()).table
    before = files_below(tmp_path)
    writer.append(2, base=table)
    new = {name.rpartition(".")[2] for name in files_below(tmp_path) - before if "/metadata/" in name}
    assert len([name for name in files_below(tmp_path) - before if "/metadata/" in name]) == 3
    assert new == {"avro", "json"}


def test_a_format_version_1_table_is_appended_to(writer: Writer) -> None:
    table = writer.append(1, 2, base=writer.create(format_version=1)).table
    table = writer.append(3, base=table).table
    assert ids_read_by_pyiceberg(table) == [1, 2, 3]
    assert table.metadata.last_sequence_number == 0


def test_a_format_version_1_table_takes_no_delete_files(writer: Writer) -> None:
    table = writer.append(1, base=writer.create(format_version=1)).table
    deletes = equality_deletes(table.metadata, [1])
    with pytest.raises(UnsupportedError):
        writer.commit(RowDelta((), (deletes,)), base=table)


def test_manifests_are_merged_from_the_configured_count_on(writer: Writer) -> None:
    table = writer.create(properties={"commit.manifest.min-count-to-merge": "3"})
    counts = []
    for number in range(1, 7):
        table = writer.append(number, base=table).table
        counts.append(len(_manifests(writer, table)))
    assert counts == [1, 2, 1, 2, 1, 2]
    assert ids_read_by_pyiceberg(table) == [1, 2, 3, 4, 5, 6]
    assert sorted(entry.sequence_number or 0 for entry in _entries(writer, table)) == [1, 2, 3, 4, 5, 6]


def test_a_lost_race_reuses_and_remakes_merged_manifests(tmp_path: Path, writer: Writer) -> None:
    table = writer.create(properties={"commit.manifest.min-count-to-merge": "2"})
    base = writer.append(1, base=table).table
    Writer(warehouse_catalog(tmp_path), seed=2).append(2)
    outcome = writer.append(3, base=base)
    assert outcome.attempts == 2
    assert ids_read_by_pyiceberg(outcome.table) == [1, 2, 3]
    reachable = {manifest.path.rpartition("/")[2] for manifest in _manifests(writer, outcome.table)}
    assert len(reachable) == 1


def test_merging_can_be_switched_off(writer: Writer) -> None:
    properties = {"commit.manifest.min-count-to-merge": "2", "commit.manifest-merge.enabled": "false"}
    table = writer.create(properties=properties)
    for number in range(4):
        table = writer.append(number, base=table).table
    assert len(_manifests(writer, table)) == 4


def test_a_row_delta_of_rows_and_deletes_is_an_overwrite(writer: Writer) -> None:
    empty = writer.create()
    file = data_file(empty.metadata, [1, 2, 3])
    table = writer.commit(AppendFiles((file,)), base=empty).table
    action = RowDelta((data_file(table.metadata, [20]),), (position_deletes(table.metadata, file, [1]),))
    table = writer.commit(action, base=table).table
    assert ids_read_by_pyiceberg(table) == [1, 3, 20]
    assert _counters(table) == {
        "operation": "overwrite",
        "added-data-files": "1",
        "added-records": "1",
        "added-delete-files": "1",
        "added-position-delete-files": "1",
        "added-position-deletes": "1",
        "changed-partition-count": "1",
        "total-records": "4",
        "total-data-files": "2",
        "total-delete-files": "1",
        "total-position-deletes": "1",
        "total-equality-deletes": "0",
    }


def test_a_row_delta_of_deletes_alone_is_a_delete(writer: Writer) -> None:
    table = writer.append(1, 2, base=writer.create()).table
    table = writer.commit(RowDelta((), (equality_deletes(table.metadata, [2]),)), base=table).table
    assert _counters(table)["operation"] == "delete"
    assert _counters(table)["added-equality-deletes"] == _counters(table)["total-equality-deletes"] == "1"


def test_a_row_delta_of_rows_alone_is_an_append(writer: Writer) -> None:
    table = writer.create()
    table = writer.commit(RowDelta((data_file(table.metadata, [1]),)), base=table).table
    assert _counters(table)["operation"] == "append"


def test_a_row_delta_takes_delete_files_out(writer: Writer) -> None:
    empty = writer.create()
    file = data_file(empty.metadata, [1, 2, 3])
    table = writer.commit(AppendFiles((file,)), base=empty).table
    old = position_deletes(table.metadata, file, [0])
    table = writer.commit(RowDelta((), (old,)), base=table).table
    new = position_deletes(table.metadata, file, [0, 1])
    table = writer.commit(RowDelta((), (new,), removed_delete_files=(old,)), base=table).table
    assert ids_read_by_pyiceberg(table) == [3]
    assert _counters(table)["removed-position-delete-files"] == "1"
    assert _counters(table)["total-position-deletes"] == "2"


def test_a_copy_on_write_keeps_the_numbers_of_the_files_that_stay(writer: Writer) -> None:
    empty = writer.create()
    gone, stays = data_file(empty.metadata, [1, 2]), data_file(empty.metadata, [3])
    table = writer.commit(AppendFiles((gone, stays)), base=empty).table
    base_id = table.metadata.current_snapshot_id
    action = OverwriteFiles((data_file(table.metadata, [2]),), deleted_files=(gone,), base_snapshot_id=base_id)
    table = writer.commit(action, base=table).table

    assert ids_read_by_pyiceberg(table) == [2, 3]
    assert _counters(table)["operation"] == "overwrite"
    assert _counters(table)["deleted-records"] == "2"
    assert _counters(table)["total-records"] == "2"
    current_id = table.metadata.current_snapshot_id
    entries = {(e.file.file_path, e.status): (e.snapshot_id, e.sequence_number) for e in _entries(writer, table)}
    assert entries[(stays.file_path, EntryStatus.EXISTING)] == (base_id, 1)
    assert entries[(gone.file_path, EntryStatus.DELETED)] == (current_id, 1)


def test_a_removal_reads_the_manifest_of_its_files_and_decodes_no_other_entry(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = writer.create()
    file = data_file(table.metadata, [1])
    made = [[replace(file, file_path=f"{file.file_path}-{part}-{n}") for n in range(60)] for part in range(3)]
    for files in made:
        table = writer.commit(AppendFiles(files), base=table).table
    newest, middle, oldest = _manifests(writer, table)
    decoded: list[int] = []
    copied: list[str] = []
    entries, read = ManifestColumns.entries, ManifestCache.read

    def recorded(columns: ManifestColumns, rows: Sequence[int] | None = None, **given: Any) -> Any:
        decoded.append(columns.size if rows is None else len(rows))
        return entries(columns, rows, **given)

    def noted(cache: ManifestCache, io: FileIO, manifest: ManifestFile) -> bytes:
        copied.append(manifest.path)
        return read(cache, io, manifest)

    monkeypatch.setattr(ManifestColumns, "entries", recorded)
    monkeypatch.setattr(ManifestCache, "read", noted)
    base_id = table.metadata.current_snapshot_id
    action = OverwriteFiles(deleted_files=(made[1][7],), base_snapshot_id=base_id)
    table = writer.commit(action, base=table).table
    monkeypatch.undo()
    assert sum(decoded) == 1
    assert copied == [middle.path]
    listed = _manifests(writer, table)
    assert {newest.path, oldest.path} < {one.path for one in listed}
    live = {entry.file.file_path for entry in _entries(writer, table) if entry.is_live}
    assert live == {one.file_path for files in made for one in files} - {made[1][7].file_path}


def test_what_an_earlier_snapshot_deleted_is_not_carried_on(writer: Writer) -> None:
    table = writer.append(1, base=writer.create()).table
    table = writer.commit(OverwriteFiles(delete_all=True), base=table).table
    assert _counters(table)["operation"] == "delete"
    assert [entry.status for entry in _entries(writer, table)] == [EntryStatus.DELETED]
    table = writer.append(2, base=table).table
    assert [entry.status for entry in _entries(writer, table)] == [EntryStatus.ADDED]
    assert ids_read_by_pyiceberg(table) == [2]


def test_an_overwrite_of_everything_takes_the_delete_files_too(writer: Writer) -> None:
    empty = writer.create()
    file = data_file(empty.metadata, [1, 2])
    table = writer.commit(AppendFiles((file,)), base=empty).table
    table = writer.commit(RowDelta((), (position_deletes(table.metadata, file, [0]),)), base=table).table
    table = writer.commit(OverwriteFiles((data_file(table.metadata, [7]),), delete_all=True), base=table).table
    assert ids_read_by_pyiceberg(table) == [7]
    assert _counters(table)["total-delete-files"] == "0"


def test_a_dynamic_overwrite_replaces_its_partitions_alone(writer: Writer) -> None:
    table = writer.create(spec=BY_REGION)
    for number, region in enumerate(["eu", "us", "us"]):
        table = writer.append(number, region=region, base=table).table
    action = OverwriteFiles((data_file(table.metadata, [9], "us"),), partitions={(0, ("us",))})
    table = writer.commit(action, base=table).table
    assert ids_read_by_pyiceberg(table) == [0, 9]
    assert _counters(table)["operation"] == "overwrite"
    assert _counters(table)["replace-partitions"] == "true"
    assert _counters(table)["changed-partition-count"] == "1"


def test_an_overwrite_by_a_filter_drops_whole_files_and_the_deletes_of_their_partitions(writer: Writer) -> None:
    table = writer.create(spec=BY_REGION)
    old, kept = data_file(table.metadata, [1, 2], "us"), data_file(table.metadata, [3, 4], "eu")
    table = writer.commit(AppendFiles((old, kept)), base=table).table
    deletes = (position_deletes(table.metadata, old, [0]), position_deletes(table.metadata, kept, [0]))
    table = writer.commit(RowDelta((), (*deletes, equality_deletes(table.metadata, [2], "us"))), base=table).table
    action = OverwriteRows(Comparison("=", 2, "us"), (data_file(table.metadata, [9], "us"),))
    table = writer.commit(action, base=table).table
    assert ids_read_by_pyiceberg(table) == [4, 9]
    counters = _counters(table)
    assert (counters["operation"], counters["deleted-data-files"], counters["removed-delete-files"]) == (
        "overwrite",
        "1",
        "2",
    )
    assert counters["total-delete-files"] == "1"


def test_an_overwrite_by_a_filter_on_metrics(writer: Writer) -> None:
    """A file with rows on both sides goes row by row, the others by their bounds; version 1 has no such files."""
    table = writer.create()
    for ids in ([1, 2], [3, 4, 5], [6]):
        table = writer.append(*ids, base=table).table
    both = next(entry.file for entry in _entries(writer, table) if entry.file.record_count == 3)
    action = OverwriteRows(
        Comparison("<=", 1, 3),
        delete_files=(position_deletes(table.metadata, both, [0]),),
        referenced_data_files=frozenset({both.file_path}),
        base_snapshot_id=table.metadata.current_snapshot_id,
    )
    table = writer.commit(action, base=table).table
    assert ids_read_by_pyiceberg(table) == [4, 5, 6]
    assert _counters(table)["deleted-data-files"] == "1"
    assert _counters(table)["operation"] == "delete"


def test_an_overwrite_by_a_filter_writes_a_file_of_a_version_1_table_anew(writer: Writer) -> None:
    table = writer.create(format_version=1)
    table = writer.append(1, 2, 3, base=table).table
    file = next(iter(_entries(writer, table))).file
    action = OverwriteRows(
        Comparison("=", 1, 2),
        (data_file(table.metadata, [9]), data_file(table.metadata, [1, 3])),
        rewritten_files=(file,),
        base_snapshot_id=table.metadata.current_snapshot_id,
    )
    table = writer.commit(action, base=table).table
    assert ids_read_by_pyiceberg(table) == [1, 3, 9]
    assert _counters(table)["deleted-data-files"] == "1"
    assert _counters(table)["operation"] == "overwrite"


def test_an_overwrite_by_a_filter_of_a_version_1_table(writer: Writer) -> None:
    table = writer.create(spec=BY_REGION, format_version=1)
    for number, region in enumerate(["eu", "us"]):
        table = writer.append(number, region=region, base=table).table
    action = OverwriteRows(Comparison("=", 2, "us"), (data_file(table.metadata, [9], "us"),))
    assert ids_read_by_pyiceberg(writer.commit(action, base=table).table) == [0, 9]


def test_summary_properties_do_not_replace_counters(writer: Writer) -> None:
    table = writer.create()
    file = data_file(table.metadata, [1])
    given = {"streaming-query": "q1", "added-records": "99", "operation": "delete"}
    table = writer.commit(AppendFiles((file,), given), base=table).table
    assert _counters(table)["streaming-query"] == "q1"
    assert _counters(table)["added-records"] == "1"
    assert _counters(table)["operation"] == "append"


def test_a_table_is_made_with_its_first_rows_in_one_commit(tmp_path: Path, writer: Writer) -> None:
    file = _first_file(writer, [1, 2])
    table = writer.create(initial=AppendFiles((file,)))
    assert table.metadata_location.endswith("v1.metadata.json")
    assert ids_read_by_pyiceberg(table) == [1, 2]


def test_a_creation_that_loses_leaves_nothing_of_its_own(tmp_path: Path, writer: Writer) -> None:
    file = _first_file(writer, [1, 2])
    Writer(warehouse_catalog(tmp_path), seed=2).create()
    before = files_below(tmp_path)
    with pytest.raises(AlreadyExistsError):
        writer.create(initial=AppendFiles((file,)))
    own = "db/orders/data/" + file.file_path.rpartition("/")[2]
    assert files_below(tmp_path) == before - {own}


def test_a_creation_that_fails_leaves_no_folder(tmp_path: Path, writer: Writer) -> None:
    with pytest.raises(UnsupportedError, match="ormat version 9"):
        writer.create(format_version=9, initial=AppendFiles((_first_file(writer, [1]),)))
    assert not (tmp_path / "db/orders").exists()


def test_a_replaced_table_has_the_new_rows_and_the_old_history(writer: Writer) -> None:
    old = writer.append(1, 2, base=writer.create(spec=BY_REGION, properties={"a": "1"})).table
    schema = assign_fresh_ids(
        Schema((NestedField(1, "region", StringType()), NestedField(2, "id", LongType(), required=True))),
        old.metadata.last_column_id + 1,
    )
    spec = PartitionSpec(0, (PartitionField(schema.fields[0].id, 1000, "region", IdentityTransform()),))
    action = ReplaceTable(schema, spec, UNSORTED, {"b": "2"})
    replaced = writer.commit(action, base=old).table.metadata

    assert replaced.current_snapshot() is None
    assert [one.snapshot_id for one in replaced.snapshots] == [old.metadata.current_snapshot_id]
    assert replaced.table_uuid == old.metadata.table_uuid
    assert replaced.properties == {"a": "1", "b": "2"}
    assert replaced.schema().fields == schema.fields
    assert replaced.spec().fields[0].field_id == 1001
    assert (replaced.current_schema_id, replaced.default_spec_id) == (1, 1)


def test_a_replacement_writes_its_rows_under_the_new_spec(tmp_path: Path, writer: Writer) -> None:
    old = writer.append(1, 2, base=writer.create()).table
    preview = new_table_metadata(SCHEMA, BY_REGION, UNSORTED, old.metadata.location, {}, 2, "u", 0)
    action = ReplaceTable(SCHEMA, BY_REGION, UNSORTED, initial=AppendFiles((data_file(preview, [5], "eu"),)))
    Writer(warehouse_catalog(tmp_path), seed=2).append(3)

    outcome = writer.commit(action, base=old)

    assert outcome.attempts == 2
    assert ids_read_by_pyiceberg(outcome.table) == [5]
    assert _counters(outcome.table)["total-records"] == "1"
    snapshot = outcome.table.metadata.current_snapshot()
    assert snapshot is not None
    assert snapshot.parent_snapshot_id is None
    assert len(outcome.table.metadata.snapshots) == 3
    assert [entry.file.spec_id for entry in _entries(writer, outcome.table)] == [1]


def test_an_action_can_be_committed_again(tmp_path: Path, writer: Writer) -> None:
    action = ChangeProperties({"a": "1"})
    table = writer.commit(action, base=writer.create()).table
    assert writer.commit(action, base=table).table == table


def test_updates_and_requirements_have_the_words_of_the_rest_spec(writer: Writer) -> None:
    table = writer.append(1, base=writer.create()).table
    context = CommitContext("t", "c", writer.catalog.io, writer.clock, writer.rng, ManifestCache(), lambda base: True)
    staged = ChangeProperties({"a": "1"}).begin(context).stage(table.metadata)
    assert [update.to_json() for update in staged.updates] == [{"action": "set-properties", "updates": {"a": "1"}}]
    assert [one.to_json()["type"] for one in staged.requirements] == ["assert-table-uuid"]
    assert apply_updates(table.metadata, staged.updates, now_ms=1).properties == {"a": "1"}


def _first_file(writer: Writer, ids: list[int]) -> ContentFile:
    location = writer.catalog.default_table_location(ORDERS)
    return data_file(new_table_metadata(SCHEMA, PartitionSpec(0, ()), UNSORTED, location, {}, 2, "u", 0), ids)


def test_create_takes_the_location_of_the_catalog(tmp_path: Path, writer: Writer) -> None:
    action = CreateTable(SCHEMA, PartitionSpec(0, ()), UNSORTED, {}, 2, str(tmp_path / "elsewhere"))
    with pytest.raises(UnsupportedError, match="location"):
        writer.commit(action, base=None)
    assert files_below(tmp_path) == set()
