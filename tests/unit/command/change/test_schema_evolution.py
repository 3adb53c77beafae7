"""A target that grows by the columns that its statement brings: seen by it alone until it commits."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from sqlext.command.change.row_level import commit_change
from sqlext.command.change.schema_evolution import grown
from sqlext.command.write_operation import begin_write
from sqlext.commit.actions.append import AppendFiles
from sqlext.spark.query.write_job import task_identity, write_on_driver
from sqlext.spec.schema_change import AddColumn, WidenColumn
from sqlext.spec.types import LongType, StringType
from sqlext.write.task import write_rows
from unit.command.lake import Lake, refused, rows_for

NOTE = AddColumn(("a.note",), StringType())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (id INT)")
    made.append(id=[1])
    return made


def test_columns_and_rows_land_in_one_commit(lake: Lake) -> None:
    target = grown(lake.environment, lake.target(), [NOTE, WidenColumn(("id",), LongType(), None)])
    assert [field.name for field in target.table.metadata.schema().fields] == ["id", "a.note"]
    assert [field.name for field in lake.load().metadata.schema().fields] == ["id"]
    operation = begin_write(target.written_as, target.version.io, "t", lake.environment.rng)
    rows = rows_for(target, id=[2**40], **{"a.note": ["x"]})
    written = write_on_driver(rows, write_rows(operation.plan, task_identity=task_identity))
    before = lake.load().metadata
    commit_change(lake.environment, target, AppendFiles(written.data_files))
    after = lake.load().metadata
    assert [(field.id, str(field.type)) for field in after.schema().fields] == [(1, "long"), (2, "string")]
    assert len(after.metadata_log) == len(before.metadata_log) + 1
    assert lake.rows() == [(1,), (2**40, "x")]


def test_the_grown_version_is_found_while_its_statement_runs(lake: Lake) -> None:
    """Spark's scans of it ask by its location, at which there is no file."""
    target = grown(lake.environment, lake.target(), [NOTE])
    handle = target.version.handle
    assert handle.metadata_location == target.table.metadata_location
    assert lake.environment.catalogs.version(handle).metadata is target.table.metadata
    del target
    gc.collect()
    with pytest.raises(FileNotFoundError):
        lake.environment.catalogs.version(handle)


def test_nothing_to_add_leaves_the_target_as_it_is(lake: Lake) -> None:
    target = lake.target()
    assert grown(lake.environment, target, []) is target


def test_a_column_that_is_there_in_another_case_is_refused(lake: Lake) -> None:
    with refused("FIELD_ALREADY_EXISTS"):
        grown(lake.environment, lake.target(), [AddColumn(("ID",), StringType())])
    target = grown(lake.environment, lake.target(), [AddColumn(("ID",), StringType())], case_sensitive=True)
    assert [field.name for field in target.table.metadata.schema().fields] == ["id", "ID"]
