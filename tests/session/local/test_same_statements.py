"""The same statements by Spark's SQL and without Spark, on two tables: rows, key and refusals are equal after each."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext.local
from judges.iceberg import IcebergJudge
from sqlext.errors import SqlextError
from sqlext.local import LocalCatalog, LocalTable

Row = dict[str, Any]


@dataclass(frozen=True)
class _Kind:
    """A kind of table: its columns and clauses; `values` are what a column may hold."""

    columns: str = "id INT, region STRING, q INT, note STRING, PRIMARY KEY (id)"
    clauses: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    kinds: Sequence[str] = ()
    deletes: bool = True


_ENGINE = "id INT, region STRING, q INT, note STRING, PRIMARY KEY (id)"
_KINDS = {
    "plain": _Kind(),
    "vectors": _Kind(properties={"format-version": "3"}),
    "version 1": _Kind("id INT, region STRING, q INT, note STRING", properties={"format-version": "1"}),
    "without key": _Kind("id INT, region STRING, q INT, note STRING"),
    "rewritten": _Kind(properties={"write.merge.mode": "copy-on-write", "write.delete.mode": "copy-on-write"}),
    "rewritten with lineage": _Kind(
        properties={"format-version": "3", "write.merge.mode": "copy-on-write", "write.delete.mode": "copy-on-write"}
    ),
    "auto": _Kind(properties={"write.merge.mode": "auto", "write.delete.mode": "auto"}),
    "equality": _Kind(properties={"write.upsert.mode": "equality"}),
    "equality in buckets": _Kind(
        "id INT, region STRING, q INT, note STRING, PRIMARY KEY (id) NOT ENFORCED",
        properties={"write.upsert.mode": "equality", "bucket": "2"},
    ),
    "enforced": _Kind("id INT, region STRING, q INT, note STRING, PRIMARY KEY (id) ENFORCED"),
    "enforced by equality": _Kind(
        "id INT, region STRING, q INT, note STRING, PRIMARY KEY (id) ENFORCED",
        properties={"write.upsert.mode": "equality"},
    ),
    "partitioned": _Kind(clauses="PARTITIONED BY (region, bucket(3, id))", properties={"format-version": "3"}),
    "composite key": _Kind("id INT, region STRING, q INT, note STRING, PRIMARY KEY (region, id)"),
    "checked": _Kind(
        "id INT, region VARCHAR(3), q INT DEFAULT 7, note STRING, CONSTRAINT few CHECK (q < 40),"
        " CHECK (note IS NULL OR note != 'x' OR region = 'eu'), PRIMARY KEY (id)",
        properties={"format-version": "3"},
    ),
    "sequence": _Kind(properties={"write.upsert.sequence-field": "q"}, kinds=("+I", "+U", "-D", "-U")),
    "row kinds": _Kind(kinds=("+I", "+U", "-D")),
    "latest first": _Kind(properties={"write.upsert.sequence-field": "q", "sequence.field.sort-order": "descending"}),
    "upserts by property": _Kind(properties={"write.upsert.enabled": "true"}),
    "partial update": _Kind(properties={"merge-engine": "partial-update", "sequence.field": "q"}),
    "first row": _Kind(properties={"merge-engine": "first-row"}),
    "aggregation": _Kind(
        properties={
            "merge-engine": "aggregation",
            "fields.q.aggregate-function": "sum",
            "fields.note.aggregate-function": "listagg",
            "fields.region.aggregate-function": "max",
        }
    ),
    "input as changelog": _Kind(properties={"changelog-producer": "input"}, kinds=("+I", "+U", "-D")),
    "changelog": _Kind(properties={"changelog-producer": "lookup", "format-version": "3"}),
}


@pytest.fixture
def lake(spark: SparkSession, warehouse: Path) -> LocalCatalog:
    found = sqlext.local.open(str(warehouse), {"care": "none"})
    assert isinstance(found, LocalCatalog)
    return found


def _literal(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _row(rng: random.Random, kind: _Kind) -> Row:
    row: Row = {
        "id": rng.randrange(12),
        "region": rng.choice(["eu", "us", "asia" if rng.random() < 0.1 else "af"]),
        "q": rng.choice([None, *range(45)]),
        "note": rng.choice(["x", "y", "z", None, "é"]),
    }
    if kind.kinds:
        row["_row_kind"] = rng.choice(kind.kinds)
    return row


def _rows(rng: random.Random, kind: _Kind) -> list[Row]:
    rows = [_row(rng, kind) for _ in range(rng.randint(1, 6))]
    if rng.random() < 0.8:
        rows = list(
            {(row["id"], row["region"]) if "region, id" in kind.columns else row["id"]: row for row in rows}.values()
        )
    if rng.random() < 0.2:
        rows = [{name: value for name, value in row.items() if name != "q"} for row in rows]
    return rows


def _values(rows: Sequence[Row]) -> str:
    listed = ", ".join(f"({', '.join(map(_literal, row.values()))})" for row in rows)
    return f"({', '.join(rows[0])}) VALUES {listed}"


def _condition(rng: random.Random) -> str:
    return rng.choice(
        [
            f"id = {rng.randrange(12)}",
            f"q > {rng.randrange(45)} AND region = 'eu'",
            "region = 'us'",
            f"id BETWEEN {rng.randrange(6)} AND {rng.randrange(12)}",
            "note IS NULL OR q IS NULL",
            f"id IN (1, 2, {rng.randrange(12)}) AND NOT q < 10",
            "true" if rng.random() < 0.2 else "note LIKE 'y%'",
        ]
    )


def _arrow(rows: Sequence[Row], rng: random.Random) -> Any:
    """The rows in one of the forms that are taken."""
    shape = {"id": pa.int64(), "region": pa.string(), "q": pa.int64(), "note": pa.string(), "_row_kind": pa.string()}
    table = pa.table({name: pa.array([row[name] for row in rows], shape[name]) for name in rows[0]})
    match rng.randrange(5):
        case 0:
            return table
        case 1:
            return table.to_reader()
        case 2:
            import polars as pl

            return pl.from_arrow(table)
        case 3:
            return table.combine_chunks().to_batches()[0]
    return list(rows)


class _Twins:
    """A table that Spark writes, and one that is written without it."""

    def __init__(self, spark: SparkSession, lake: LocalCatalog, name: str, kind: _Kind) -> None:
        self.spark = spark
        self.names = name, f"{name}_local"
        pairs = ", ".join(f"'{key}'='{value}'" for key, value in kind.properties.items())
        text = f"({kind.columns}) {kind.clauses} {f'TBLPROPERTIES ({pairs})' if pairs else ''}"
        spark.sql(f"CREATE TABLE {self.names[0]} {text}")
        self.table: LocalTable = lake.create_table(f"CREATE TABLE {self.names[1].removeprefix('lake.')} {text}")

    def do(self, statement: str, change: Any) -> None:
        """Both ways to say a change; both are refused by one condition, or neither."""
        by_spark = by_local = None
        try:
            self.spark.sql(statement.format(self.names[0]))
        except PySparkException as error:
            by_spark = error.getCondition()
        try:
            change()
        except SqlextError as error:
            by_local = error.condition
        assert by_spark == by_local, statement
        assert self.rows(0) == self.rows(1) == self.local_rows(), statement

    def rows(self, which: int) -> list[str]:
        return sorted(map(repr, (tuple(row) for row in self.spark.table(self.names[which]).collect())))

    def local_rows(self) -> list[str]:
        return sorted(repr(tuple(row.values())) for row in self.table.to_arrow().to_pylist())

    def described(self, which: int) -> Any:
        """What the metadata says of columns, key and properties."""
        shown = self.spark.sql(f"SHOW CREATE TABLE {self.names[which]}").collect()[0][0]
        lines = shown.replace(self.names[which], "t").splitlines()
        return [line for line in lines if "LOCATION" not in line and self.names[which].rpartition(".")[2] not in line]

    def changes(self, which: int) -> list[tuple[Any, ...]]:
        text = f"SELECT * FROM table_changes('{self.names[which]}') ORDER BY _change_ordinal"
        return sorted(repr(tuple(row)[:-1]) for row in self.spark.sql(text).collect())


def _step(rng: random.Random, twins: _Twins, known: _Kind) -> None:
    has_key, rows = "PRIMARY KEY" in known.columns, _rows(rng, known)
    match rng.randrange(5 if has_key else 3):
        case 0 | 1 if not known.kinds:
            twins.do(f"INSERT INTO {{}} {_values(rows)}", lambda: twins.table.append(_arrow(rows, rng)))
        case 2 | 1 if known.deletes:
            where = _condition(rng)
            text = "DELETE FROM {}" if where == "true" else f"DELETE FROM {{}} WHERE {where}"
            twins.do(text, lambda: twins.table.delete(where=where))
        case 3 if "region, id" not in known.columns:
            ids = rng.sample(range(14), 3)
            text = f"DELETE FROM {{}} WHERE id IN ({', '.join(map(str, ids))})"
            twins.do(text, lambda: twins.table.delete([{"id": id} for id in ids]))
        case _ if has_key:
            twins.do(f"UPSERT INTO {{}} {_values(rows)}", lambda: twins.table.upsert(_arrow(rows, rng)))


@pytest.mark.turns(2)
@pytest.mark.parametrize("kind", list(_KINDS))
def test_random_histories(spark: SparkSession, lake: LocalCatalog, table_name: str, kind: str) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    known = _KINDS[kind]
    twins = _Twins(spark, lake, table_name, known)
    for _ in range(12):
        _step(rng, twins, known)
    assert twins.described(0) == twins.described(1)
    assert twins.changes(0) == twins.changes(1)
    by_spark = spark.sql(f"SELECT * FROM table_changes('{twins.names[1]}')").collect()
    by_local = twins.table.changes().to_pylist()
    assert sorted(repr(tuple(row)) for row in by_spark) == sorted(repr(tuple(row.values())) for row in by_local)


_CHANGES = (
    "ADD COLUMN extra INT",
    "RENAME COLUMN note TO `a note`",
    "ALTER COLUMN q TYPE BIGINT",
    "ADD PARTITION FIELD region",
    "ALTER COLUMN extra SET DEFAULT 5",
    "DROP PARTITION FIELD region",
    "DROP COLUMN extra",
    "ADD COLUMN extra STRING FIRST",
    "SET TBLPROPERTIES ('write.delete.mode'='copy-on-write')",
    "ADD CONSTRAINT high CHECK (q >= 0 OR id > 5)",
    "CREATE BRANCH b",
)


def test_tables_that_change_between_statements(spark: SparkSession, lake: LocalCatalog, table_name: str) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    kind = _Kind(properties={"format-version": "3"})
    twins = _Twins(spark, lake, table_name, kind)
    note = "note"
    for change in _CHANGES:
        for name in twins.names:
            spark.sql(f"ALTER TABLE {name} {change}")
        note = "a note" if "RENAME" in change else note
        rows = [
            {("a note" if name == "note" else name) if note == "a note" else name: value for name, value in row.items()}
            for row in _rows(rng, kind)
        ]
        values = f"({', '.join(f'`{name}`' for name in rows[0])}) {_values(rows).partition(')')[2]}"
        twins.do(f"UPSERT INTO {{}} {values}", partial(twins.table.upsert, rows))
        twins.do("DELETE FROM {} WHERE q % 5 = 1", partial(twins.table.delete, where="q % 5 = 1"))
        assert twins.described(0) == twins.described(1)
    branch = twins.table.branch("b")
    branch.append([{"id": 77, "region": "eu", "q": 9}])
    assert spark.table(f"{twins.names[1]}.branch_b").where("id = 77").count() == 1
    assert branch.to_arrow(where="id = 77").num_rows == 1
    assert twins.table.to_arrow(where="id = 77").num_rows == 0
    first = spark.sql(f"SELECT snapshot_id FROM {twins.names[1]}.snapshots ORDER BY committed_at").first()
    assert first is not None
    by_spark = spark.sql(f"SELECT * FROM {twins.names[1]} VERSION AS OF {first.snapshot_id}").collect()
    by_local = twins.table.to_arrow(snapshot=first.snapshot_id).to_pylist()
    assert sorted(map(repr, map(tuple, by_spark))) == sorted(repr(tuple(row.values())) for row in by_local)


def test_what_other_engines_left_is_read(
    spark: SparkSession, iceberg: IcebergJudge, lake: LocalCatalog, table_name: str
) -> None:
    """Copies of a key, rows without ids of rows, and deletes of another writer."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, m MAP<STRING, INT>, PRIMARY KEY (id))")
    iceberg.sql(f"INSERT INTO {table_name} VALUES (1, 'a', map('x', 1)), (1, 'b', NULL), (2, 'c', map())")
    iceberg.sql(f"DELETE FROM {table_name} WHERE v = 'c'")
    table = lake.table(table_name.removeprefix("lake."))
    assert table.to_arrow(["id", "v", "m"]).num_rows == 2
    assert table.upsert([{"id": 1, "v": "d", "m": {"y": 2}}, {"id": 3, "v": "e", "m": None}]).updated == 1
    assert iceberg.sql(f"SELECT id, v, m['y'] FROM {table_name} ORDER BY id") == [[1, "d", 2], [3, "e", None]]
    assert sorted(tuple(row) for row in spark.sql(f"SELECT id, v FROM {table_name}").collect()) == [(1, "d"), (3, "e")]
