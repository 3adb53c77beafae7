"""The target of a statement by its name, and the row delta that a statement commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyroaring import BitMap64

from small_tables import Writer, summary_of
from sqlext.command.change.read_set import ReadSet
from sqlext.command.change.row_level import (
    commit_change,
    delete_rows,
    files_to_drop,
    load_target,
    load_whole_target,
    row_delta,
)
from sqlext.command.environment import Rerun
from sqlext.command.write_operation import begin_write
from sqlext.commit.action import Destination
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.errors import StaleRead, ValidationConflict
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spark.query.write_job import WrittenFiles
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.types import LongType, NestedField
from sqlext.thresholds import Thresholds
from unit.command.lake import Lake, name, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _made(lake: Lake, version: int = 2, partitioned: str = "") -> Lake:
    lake.create(f"CREATE TABLE t (id BIGINT, p STRING) {partitioned} TBLPROPERTIES ('format-version'='{version}')")
    return lake


def _delta(lake: Lake, positions: Mapping[str, Sequence[int]], *, keys_unique: bool = False) -> RowDelta | None:
    target = lake.target()
    operation = begin_write(target.written_as, target.version.io, "t", lake.environment.rng)
    written = WrittenFiles(positions={path: BitMap64(rows) for path, rows in positions.items()})
    read_set = ReadSet(AlwaysTrue(), None, keys_unique)
    return row_delta(lake.environment, target, operation, written, read_set=read_set, isolation="snapshot")


# the target


def test_the_relation_is_pinned_to_the_version_that_was_loaded(lake: Lake) -> None:
    lake.create("CREATE TABLE `a.b` (id BIGINT)")
    target = lake.target("a.b")
    file = target.table.metadata_location.rpartition("/")[2]
    assert target.relation == f"`lake`.`db`.`a.b` VERSION AS OF '@{file}'"
    on_branch = replace(target, destination=Destination("it's"))
    assert on_branch.relation == rf"`lake`.`db`.`a.b` VERSION AS OF '@{file}/it\'s'"


def test_settings_of_a_write_stand_in_for_properties_while_it_writes(lake: Lake) -> None:
    target = _made(lake).target()
    assert target.written_as is target.table.metadata
    changed = replace(target, settings={"write.parquet.compression-codec": "gzip"})
    assert changed.written_as.properties["write.parquet.compression-codec"] == "gzip"
    assert changed.table.metadata.properties["write.parquet.compression-codec"] == "zstd"


def test_a_name_may_go_on_with_a_branch(lake: Lake) -> None:
    _made(lake).append(id=[1])
    lake.commit(CreateReference("audit", "branch", None))
    lake.append("t", "branch_audit", id=[2])
    target = lake.target("t", "branch_audit")
    assert target.destination == Destination("audit")
    assert target.version.snapshot is not None
    assert target.version.snapshot.snapshot_id == target.table.metadata.refs["audit"].snapshot_id
    assert lake.rows() == [(1, None)]
    by_option = load_target(lake.environment, None, name(), "audit")
    assert by_option.version.snapshot == target.version.snapshot
    with refused("TWO_DESTINATIONS", "audit", "other"):
        load_target(lake.environment, None, name("t", "branch_audit"), "other")
    with refused("EXPECT_TABLE_NOT_PART", "the branch audit"):
        load_whole_target(lake.environment, None, name("t", "branch_audit"))


def test_places_that_cannot_be_written(lake: Lake) -> None:
    snapshot = _made(lake).append(id=[1]).metadata.current_snapshot_id
    lake.commit(CreateReference("v1", "tag", None))
    for place in ("tag_v1", f"snapshot_id_{snapshot}", "at_timestamp_1", "files"):
        with refused("PLACE_READ_ONLY", place):
            lake.target("t", place)
    with refused("REFERENCE_NOT_FOUND", "none"):
        lake.target("t", "branch_none")
    with refused("TABLE_OR_VIEW_NOT_FOUND", "lake.db.u"):
        lake.target("u")


def test_a_column_of_a_reserved_name_is_not_written_over(lake: Lake) -> None:
    """Another engine may have made it: in a SELECT of ours it would mean something else."""
    Writer(lake.catalog).create(schema=Schema((NestedField(1, "_pos", LongType()),)))
    with refused("RESERVED_COLUMN_IN_TABLE", "_pos", "lake.db.orders"):
        lake.target("orders")


# the row delta


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("partitioned", ["", "PARTITIONED BY (p)"])
def test_rows_are_deleted_by_position_and_files_without_rows_go(lake: Lake, version: int, partitioned: str) -> None:
    _made(lake, version, partitioned).append(id=[1, 2, 3], p=["a", "a", "a"])
    lake.append(id=[4, 5], p=["a", "a"])
    lake.append(id=[6], p=[None])
    first, second, _ = lake.files()
    delta = _delta(lake, {first.file_path: [0, 2], second.file_path: [0, 1]})
    assert delta is not None
    assert [file.file_path for file in delta.deleted_files] == [second.file_path]
    assert delta.referenced_data_files == {first.file_path, second.file_path}
    assert bool(delta.delete_files) == (version == 2), "format version 3 has vectors, which the commit makes"
    lake.commit(delta)
    assert lake.rows() == [(2, "a"), (6, None)]
    deletes = summary_of(lake.load())["total-delete-files"]
    assert deletes == "1", "none is for the file that has gone"


@pytest.mark.parametrize("version", [2, 3])
def test_a_file_goes_once_its_last_rows_do(lake: Lake, version: int) -> None:
    _made(lake, version).append(id=[1, 2, 3])
    (path,) = (file.file_path for file in lake.files())
    lake.delete({path: [1]})
    assert lake.rows() == [(1, None), (3, None)]
    delta = _delta(lake, {path: [0, 2]})
    assert delta is not None
    assert [file.file_path for file in delta.deleted_files] == [path]
    assert not delta.delete_files
    lake.commit(delta)
    assert lake.rows() == []


def test_nothing_is_committed_where_nothing_changes(lake: Lake) -> None:
    _made(lake).append(id=[1])
    assert _delta(lake, {}) is None
    assert _delta(lake, {lake.files()[0].file_path: []}) is None


def test_a_write_by_key_depends_on_the_tables_key(lake: Lake) -> None:
    lake.create("CREATE TABLE t (p STRING, id BIGINT, PRIMARY KEY (id))")
    lake.append(id=[1, 2])
    path = lake.files()[0].file_path
    by_key, by_scan = _delta(lake, {path: [0]}, keys_unique=True), _delta(lake, {path: [0]})
    assert by_key is not None
    assert by_scan is not None
    assert by_key.unique_key == (2,)
    assert not by_scan.unique_key
    assert by_key.base_snapshot_id == lake.load().metadata.current_snapshot_id


def test_deletes_of_files_of_two_partitions_are_in_two_files(lake: Lake) -> None:
    _made(lake, partitioned="PARTITIONED BY (p)").append(id=[1, 2, 3, 4], p=["a", "a", None, None])
    target = lake.target()
    operation = begin_write(target.written_as, target.version.io, "t", lake.environment.rng)
    positions = {file.file_path: BitMap64([0]) for file in lake.files()}
    partitions = {file.file_path: (file.spec_id, file.partition) for file in lake.files()}
    found = delete_rows(operation, positions, partitions)
    assert {file.partition: file.record_count for file in found.files} == {("a",): 1, (None,): 1}
    assert not found.rows


@pytest.mark.parametrize(("files", "whole", "dropped"), [(500, 0, 0), (550, 1, 1), (551, 1, 0), (600, 2, 2)])
def test_few_files_that_lose_all_rows_stay_in_a_table_of_many(files: int, whole: int, dropped: int) -> None:
    """Their manifests would be written anew, with all files that stay."""

    def task(number: int) -> FileScanTask:
        return FileScanTask(ContentFile(Content.DATA, f"{number}", "PARQUET", 0, (), 2, 1), 1, 0)

    positions = {f"{number}": BitMap64([0, 1]) for number in range(whole)} | {"499": BitMap64([0])}
    touched = [task(number) for number in range(files) if f"{number}" in positions]
    found = files_to_drop(touched, positions, files, Thresholds())
    assert [file.file_path for file in found] == [f"{number}" for number in range(dropped)]


# its commit


def test_a_statement_is_overtaken_until_its_reruns_are_used_up(lake: Lake) -> None:
    _made(lake).append(id=[1])
    before, delta = lake.target(), _delta(lake, {lake.files()[0].file_path: [0]})
    assert delta is not None
    delta = replace(delta, isolation="serializable")
    lake.append(id=[2])
    with pytest.raises(StaleRead) as stale:
        commit_change(lake.environment, before, delta)
    for times, kind in ((9, StaleRead), (10, ValidationConflict)):
        environment = replace(lake.environment, overtaken=Rerun(stale.value, times, 0))
        with pytest.raises(ValidationConflict) as refusal:
            commit_change(environment, before, delta)
        assert type(refusal.value) is kind
        assert refusal.value.condition == stale.value.condition
    assert lake.rows() == [(1, None), (2, None)]
