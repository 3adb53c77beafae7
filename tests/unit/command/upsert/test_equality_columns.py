"""The target of an upsert by the columns that a write names, and what is committed then."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import sqlext.local
from sqlext.command.upsert.equality import upsert_given
from sqlext.command.upsert.equality_columns import require_upsert, told_apart_by
from sqlext.errors import ValidationConflict
from sqlext.local import LocalCatalog
from sqlext.spec.constraint import GENERATED_PREFIX
from sqlext.spec.types import IntegerType, NestedField
from unit.command.lake import Lake, refused, rows_for
from unit.local.local_lake import created, open_lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_the_columns_are_the_key_for_the_write_alone(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT, b INT, v STRING)")
    stored = lake.append(a=[1, 1], b=[1, 2], v=["x", "y"])
    target = told_apart_by(lake.target(), [("B",), ("a",)])
    assert target.table.metadata.schema().identifier_field_ids == (2, 1)
    assert target.version.metadata is target.table.metadata
    assert target.as_stored == stored
    upsert_given(lake.environment, target, rows_for(target, a=[1], b=[1], v=["new"]))
    assert lake.rows() == [(1, 1, "new"), (1, 2, "y")]
    assert lake.load().metadata.schemas == stored.metadata.schemas


def test_a_name_as_it_stands_comes_before_others(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT)")
    target = lake.target()
    schema = target.table.metadata.schema()
    both = replace(schema, fields=(*schema.fields, NestedField(7, "A", IntegerType())))
    table = replace(target.table, metadata=replace(target.table.metadata, schemas=(both,)))
    named = told_apart_by(replace(target, table=table), [("A",)])
    assert named.table.metadata.schema().identifier_field_ids == (7,)


def test_the_tables_own_key_needs_no_other_target(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b))")
    target = lake.target()
    assert told_apart_by(target, []) is target
    assert told_apart_by(target, [("b",), ("A",)]) is target
    require_upsert(target)
    with refused("INVALID_EQUALITY_COLUMNS", "the key of the table is a, b", "MERGE"):
        told_apart_by(target, [("a",)])


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (("other",), "there is no column other"),
        (("s", "x"), "s.x is inside a struct"),
        (("s",), "has type struct"),
        (("f",), "has type double"),
        (("list",), "has type list"),
        (("g",), "gets its value when a row is written"),
    ],
)
def test_columns_without_exact_values_are_refused(lake: Lake, path: tuple[str, ...], reason: str) -> None:
    lake.create("CREATE TABLE t (id INT, s STRUCT<x: INT>, f DOUBLE, list ARRAY<INT>, g INT)")
    target = lake.target()
    generated = target.table.metadata.schema().fields[-1].id
    properties = {**target.table.metadata.properties, f"{GENERATED_PREFIX}{generated}": "id + 1"}
    table = replace(target.table, metadata=replace(target.table.metadata, properties=properties))
    with refused("INVALID_EQUALITY_COLUMNS", reason):
        told_apart_by(replace(target, table=table), [path])


def test_partitions_go_by_the_columns_where_deletes_do(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)")
    target = told_apart_by(lake.target(), [("a",)])
    with refused("UPSERT_PARTITION_NOT_IN_KEY", "column p"):
        upsert_given(lake.environment, target, rows_for(target, a=[1], p=["x"]))


@pytest.mark.parametrize("mode", ["resolved", "equality"])
def test_of_writers_at_once_one_row_stays(tmp_path: Path, mode: str) -> None:
    lake = open_lake(tmp_path)
    created(lake, "a INT, writer INT", {"write.upsert.mode": mode})

    def write(writer: int) -> None:
        own = sqlext.local.open(tmp_path / "warehouse", {"care": "none"})
        assert isinstance(own, LocalCatalog)
        for a in range(3):
            # The writer that comes second runs its statement again.
            while True:
                with suppress(ValidationConflict):
                    own.table("db.t").upsert([{"a": a, "writer": writer}], equality_field_columns=["a"])
                    break

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert sorted(row["a"] for row in lake.table("db.t").to_arrow().to_pylist()) == [0, 1, 2]


def test_a_write_that_is_no_upsert_is_refused(lake: Lake) -> None:
    lake.create("CREATE TABLE t (a INT)")
    with refused("INVALID_EQUALITY_COLUMNS", "the write is no upsert", "upsert-enabled"):
        require_upsert(told_apart_by(lake.target(), [("a",)]))
