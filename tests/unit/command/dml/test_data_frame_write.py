"""The mode of a write, whether it goes by key, and what it takes out of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_tables import files_below, summary_of
from sqlext.command.change.row_level import Target
from sqlext.command.dml.replaced_rows import ReplacedRows
from sqlext.command.dml.row_write import commit_written
from sqlext.command.dml.write_mode import WriteMode, asked_mode, is_upsert, with_options
from sqlext.command.write_operation import WriteOperation
from sqlext.spark.catalog.frame_options import WriteOptions, write_options
from sqlext.spark.query.write_job import WrittenFiles, task_identity, write_on_driver
from sqlext.spec.expression import Comparison, IsNull
from sqlext.write.task import write_rows
from unit.command.lake import Lake, refused, rows_for

UPSERT, NO_UPSERT = WriteOptions(upsert=True), WriteOptions(upsert=False)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _keyed(lake: Lake, properties: str = "'comment'=''") -> Target:
    lake.create(f"CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ({properties})")
    return lake.target()


# options


def test_overwrite_enabled_replaces_what_gets_rows(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT)")
    lake.create("CREATE TABLE p (id INT) PARTITIONED BY (id)")
    on, off, unsaid = WriteOptions(overwrite=True), WriteOptions(overwrite=False), WriteOptions()
    assert asked_mode("append", on, lake.target()) == "overwrite"
    assert asked_mode("append", on, lake.target("p")) == "overwrite partitions"
    assert asked_mode("overwrite", on, lake.target("p")) == "overwrite partitions"
    assert asked_mode("overwrite where", on, lake.target("p")) == "overwrite where"
    for mode in ("append", "overwrite", "overwrite partitions", "overwrite where"):
        assert asked_mode(mode, unsaid, lake.target("p")) == mode
        if mode != "append":
            with refused("OPTION_NOT_SUPPORTED", "overwrite-enabled"):
                asked_mode(mode, off, lake.target("p"))
    assert asked_mode("append", off, lake.target()) == "append"


def test_options_are_of_one_write(lake: Lake) -> None:
    target = with_options(_keyed(lake), write_options({"snapshot-property.by": "me", "compression-codec": "gzip"}))
    _write(lake, target, WriteMode("append"), id=[1])
    assert summary_of(lake.load())["by"] == "me"
    assert lake.load().metadata.properties["write.parquet.compression-codec"] == "zstd"


@pytest.mark.parametrize(
    ("properties", "options", "upserts"),
    [
        ("'comment'=''", WriteOptions(), False),
        ("'comment'=''", UPSERT, True),
        ("'write.upsert.enabled'='true'", WriteOptions(), True),
        ("'write.upsert.enabled'='true'", NO_UPSERT, False),
        ("'merge-engine'='first-row'", WriteOptions(), True),
        ("'rowkind.field'='s'", WriteOptions(), True),
    ],
)
def test_rows_go_by_key_where_the_write_or_the_table_says_so(
    lake: Lake, properties: str, options: WriteOptions, upserts: bool
) -> None:
    assert is_upsert(_keyed(lake, properties), options, overwrites=False) is upserts


@pytest.mark.parametrize(
    ("properties", "options", "overwrites", "condition", "said"),
    [
        ("'write.upsert.enabled'='true'", WriteOptions(), True, "UPSERT_WITH_OVERWRITE", "'false' for this write"),
        ("'comment'=''", UPSERT, True, "UPSERT_WITH_OVERWRITE", "Leave 'upsert-enabled' out"),
        ("'merge-engine'='first-row'", NO_UPSERT, False, "MERGE_ENGINE_BYPASSED", "first-row"),
        ("'rowkind.field'='s'", NO_UPSERT, False, "ROW_KINDS_BYPASSED", "Leave 'upsert-enabled' out"),
        ("'rowkind.field'='s'", WriteOptions(), True, "ROW_KINDS_BYPASSED", "DELETE"),
    ],
)
def test_what_contradicts_the_table(
    lake: Lake, properties: str, options: WriteOptions, overwrites: bool, condition: str, said: str
) -> None:
    with refused(condition, "lake.db.t", said):
        is_upsert(_keyed(lake, properties), options, overwrites=overwrites)


def test_a_merge_engines_table_may_be_overwritten_without_it(lake: Lake) -> None:
    assert not is_upsert(_keyed(lake, "'merge-engine'='first-row'"), NO_UPSERT, overwrites=True)


def test_a_table_without_a_key_takes_no_rows_by_key(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT)")
    with refused("UPSERT_WITHOUT_KEY", "leave 'upsert-enabled' out"):
        is_upsert(lake.target(), UPSERT, overwrites=False)


# what is committed


def _write(lake: Lake, target: Target, mode: WriteMode, **columns: Sequence[Any]) -> int:
    def write(operation: WriteOperation) -> WrittenFiles:
        task = write_rows(operation.plan, task_identity=task_identity)
        return write_on_driver(rows_for(target, **columns), task) if columns else WrittenFiles()

    return commit_written(lake.environment, None, target, mode, write)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_partitions_that_get_rows_are_replaced(lake: Lake, version: int) -> None:
    lake.create(f"CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('format-version'='{version}')")
    lake.append(id=[1, 2, 3], p=["a", "b", None])
    assert _write(lake, lake.target(), WriteMode("overwrite partitions"), id=[9, 8], p=["b", None]) == 2
    assert lake.rows() == [(1, "a"), (8, None), (9, "b")]
    head = lake.load().metadata.current_snapshot_id
    assert _write(lake, lake.target(), WriteMode("overwrite partitions")) == 0
    assert lake.load().metadata.current_snapshot_id == head
    assert _write(lake, lake.target(), WriteMode("overwrite"), id=[7], p=["a"]) == 1
    assert lake.rows() == [(7, "a")]
    assert _write(lake, lake.target(), WriteMode("overwrite")) == 0
    assert lake.rows() == []


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rows_of_a_condition_are_replaced_by_whole_partitions(lake: Lake, version: int) -> None:
    """Where metadata decides for every file, no query is run."""
    lake.create(f"CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('format-version'='{version}')")
    lake.append(id=[1, 2, 3], p=["a", "b", None])
    replaced = ReplacedRows("p = 'a'", Comparison("=", 2, "a"))
    assert _write(lake, lake.target(), WriteMode("overwrite where", replaced), id=[9], p=["a"]) == 1
    assert lake.rows() == [(2, "b"), (3, None), (9, "a")]
    nulls = ReplacedRows("p IS NULL", IsNull(2))
    planned = lake.target()
    lake.append(id=[4], p=[None])
    assert _write(lake, planned, WriteMode("overwrite where", nulls)) == 0
    assert lake.rows() == [(2, "b"), (9, "a")], "those too that another commit has added"


def test_an_enforced_key_is_held_against_the_rows_that_stay(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, p STRING, PRIMARY KEY (id, p) ENFORCED) PARTITIONED BY (p)")
    lake.append(id=[1, 2], p=["a", "b"])
    replaced = WriteMode("overwrite where", ReplacedRows("p = 'a'", Comparison("=", 2, "a")))
    _write(lake, lake.target(), replaced, id=[1], p=["a"])
    _write(lake, lake.target(), WriteMode("overwrite partitions"), id=[2], p=["b"])
    with refused("KEY_ALREADY_EXISTS", '{"id": 2, "p": "b"}'):
        _write(lake, lake.target(), replaced, id=[2], p=["b"])
    with refused("DUPLICATE_KEY"):
        _write(lake, lake.target(), WriteMode("overwrite"), id=[5, 5], p=["a", "a"])
    assert lake.rows() == [(1, "a"), (2, "b")]


def test_nothing_is_left_of_files_that_are_refused(lake: Lake, tmp_path: Path) -> None:
    lake.create("CREATE TABLE t (id INT, PRIMARY KEY (id) ENFORCED)")
    lake.append(id=[1])
    before = files_below(tmp_path)
    with refused("KEY_ALREADY_EXISTS"):
        _write(lake, lake.target(), WriteMode("append"), id=[1])
    assert files_below(tmp_path) == before


def test_a_write_goes_to_its_branch(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT)")
    lake.append(id=[1])
    target = lake.target()
    on_branch = replace(target, destination=replace(target.destination, branch="new"))
    _write(lake, on_branch, WriteMode("append"), id=[2])
    assert lake.rows() == [(1,)]
    assert lake.load().metadata.refs["new"].type == "branch"
