"""Small runs that the driver merges: the rows that a query gives, in the order of the key and with their lineage."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.judged import Judged
from sessions import planned
from sqlext.command.change.row_level import Target, has_row_ids
from sqlext.command.compaction import compaction
from sqlext.command.compaction.rewritten_parts import Rewritten, rewrite_parts
from sqlext.command.environment import Environment
from sqlext.commit.rules.bucket_layout import bucket_count
from sqlext.spark.query.driver_rows import collect_few
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.storage.location import to_local_path

KEYS = {
    "INT": lambda number: str(number - 5),
    "STRING": lambda number: f"'{'äz€'[number % 3] * (number // 3)}'",
    "DATE": lambda number: f"date_sub(DATE'1970-01-05', {number})",
    "BIGINT": lambda number: str(10**12 * (number - 5)),
    "BINARY": lambda number: f"X'{bytes([255 - number, number]).hex()}'",
    "DECIMAL(9,2)": lambda number: f"{number - 5}.25",
    "DECIMAL(30,4)": lambda number: f"CAST('{number - 5}{'0' * 20}.125' AS DECIMAL(30,4))",
    "TIMESTAMP": lambda number: (
        f"TIMESTAMP'1969-12-31 23:59:59.999995Z' + MAKE_INTERVAL(0, 0, 0, 0, 0, 0, {number}e-6)"
    ),
    "TIMESTAMP_NTZ": lambda number: f"TIMESTAMP_NTZ'1960-01-01' + MAKE_INTERVAL(0, 0, 0, {number})",
    "BOOLEAN": lambda number: "false" if number % 2 else "true",
}
# Equality deletes of keys of these types are looked up by the driver, others are joined.
LOOKED_UP = ("INT", "BIGINT", "STRING", "DATE")
VALUES = "v STRING, f FLOAT, d DOUBLE, n DECIMAL(12,2), x BINARY, l ARRAY<INT>, s STRUCT<a: INT, b: STRING>"
# What changes of a table, in whatever order: rows of older files have another form then.
EVOLUTIONS = (
    "ALTER COLUMN f TYPE DOUBLE",
    "ALTER COLUMN n TYPE DECIMAL(14,2)",
    "RENAME COLUMN v TO w",
    "DROP COLUMN x",
)
WAYS = {
    "equality": {"write.upsert.mode": "equality"},
    "positions": {},
    "vectors": {"format-version": "3"},
    "equality and vectors": {"write.upsert.mode": "equality", "format-version": "3"},
}


def _queried(spark: SparkSession, target: Target, paths: Collection[str]) -> pa.Table:
    """The rows by a query, in no order."""
    lineage = [ROW_ID.name, LAST_UPDATED.name] if has_row_ids(target) else []
    names = [*(field.name for field in target.table.metadata.schema().fields), *lineage]
    files = ", ".join(f"'{path}'" for path in paths)
    return collect_few(
        lowered_query(spark, f"SELECT {', '.join(names)} FROM {target.relation} WHERE _file IN ({files})")
    )


def _rows(table: pa.Table) -> list[list[object]]:
    """Floating values by their bits: no NaN is equal to another, and both zeros are."""
    return [
        [struct.pack("d", value) if isinstance(value, float) else value for value in row.values()]
        for row in table.to_pylist()
    ]


@pytest.fixture
def merged(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """How many rows each compaction of the test has had from the driver, those of each bucket compared with those of a
    query; None for one that was left to a query."""
    counts: list[int | None] = []

    def compared(target: Target, file: ContentFile, sources: Sequence[str]) -> None:
        queried = _queried(spark, target, sources)
        path = to_local_path(file.file_path)
        found = pq.read_table(path, partitioning=None).rename_columns(queried.column_names).cast(queried.schema)
        assert sorted(map(repr, _rows(found))) == sorted(map(repr, _rows(queried)))
        keys = found.select([field.name for field in target.table.metadata.schema().identifier_fields]).to_pylist()
        assert keys == sorted(keys, key=lambda key: tuple(map(_sortable, key.values())))

    def counted(
        environment: Environment, spark: SparkSession, target: Target, *given: Any, **named: Any
    ) -> Rewritten | None:
        rewritten = rewrite_parts(environment, None, target, *given, **named)
        counts.append(None if rewritten is None else sum(file.record_count for file in rewritten.files))
        if rewritten is not None and bucket_count(target.table.metadata) is not None:
            for file in rewritten.files:
                compared(target, file, rewritten.origins[file.file_path].sources)
        return rewritten

    monkeypatch.setattr(compaction, "rewrite_parts", counted)
    return counts


def _sortable(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _values(rng: random.Random, kinds: list[str], columns: list[str], step: int) -> str:
    """Rows of distinct keys; a value of each column is null now and then."""
    some: dict[str, Callable[[], str]] = {
        "v": lambda: f"'{step}'",
        "w": lambda: f"'{step}'",
        "f": lambda: rng.choice(("CAST('NaN' AS FLOAT)", "CAST(-0.0 AS FLOAT)", "CAST(0 AS FLOAT)", "1.5F")),
        "d": lambda: rng.choice(("CAST('-Infinity' AS DOUBLE)", "-0.0D", "CAST('NaN' AS DOUBLE)", f"{step}.5D")),
        "n": lambda: f"{step}.05",
        "x": lambda: "X'00FF'",
        "l": lambda: f"array({step}, NULL)",
        "s": lambda: f"named_struct('a', {step}, 'b', NULL)",
        "more": lambda: str(step),
    }
    numbers = rng.sample(range(10), 4)
    keys = {tuple(KEYS[kind](number) for kind in kinds) for number in numbers}
    rows = [[*key, *("NULL" if rng.random() < 0.2 else some[column]() for column in columns)] for key in sorted(keys)]
    return ", ".join(f"({', '.join(row)})" for row in rows)


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", range(int(os.environ.get("SQLEXT_SMALL_RUNS", "5"))))
def test_the_driver_merges_as_a_query_does(judged: Judged, merged: list[int | None], seed: int) -> None:
    """Upserts, deletes and changes of the columns, and compactions that they make due or that are asked for;
    SQLEXT_SMALL_RUNS says how many seeds."""
    rng, spark = random.Random(seed), judged.spark
    # With each five seeds comes each type of a key, and with twenty each in each way.
    way, first = list(WAYS)[seed % len(WAYS)], 2 * seed % len(KEYS)
    kinds = list(KEYS)[first : first + 2]
    key = ", ".join(f"k{number} {kind}" for number, kind in enumerate(kinds))
    told = {"bucket": "2", "bucket-key": "k0", "num-sorted-run.compaction-trigger": "3", **WAYS[way]}
    pairs = ", ".join(f"'{name}'='{value}'" for name, value in told.items())
    names = ", ".join(f"k{number}" for number in range(len(kinds)))
    spark.sql(
        f"CREATE TABLE {judged.table} ({key}, {VALUES}, PRIMARY KEY ({names}) NOT ENFORCED) TBLPROPERTIES ({pairs})"
    )
    later = [*EVOLUTIONS, "ADD COLUMN more INT" + (" DEFAULT 7" if "format-version" in told else "")]
    rng.shuffle(later)
    for step in range(10):
        columns = [one for one in spark.table(judged.table).columns if one not in names.split(", ")]
        spark.sql(f"UPSERT INTO {judged.table} VALUES {_values(rng, kinds, columns, step)}")
        if step % 3 == 1:
            spark.sql(f"DELETE FROM {judged.table} WHERE k1 = {KEYS[kinds[1]](rng.randrange(10))}")
        if step % 2 and later:
            spark.sql(f"ALTER TABLE {judged.table} {later.pop()}")
    before = canonical_rows(spark.table(judged.table))
    spark.sql(f"CALL lake.system.compact('{judged.table}', full => true)")
    judged.check()
    assert canonical_rows(spark.table(judged.table)) == before
    assert len(merged) > 1
    if "equality" not in way or set(kinds) <= set(LOOKED_UP):
        assert any(merged)
        assert None not in merged


def test_what_is_left_to_a_query(
    spark: SparkSession, table_name: str, merged: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than the driver takes, nested columns that have changed, columns that only Spark reads, and deletes of keys
    that it does not compare."""

    def answer(columns: str, value: str, change: str | None = None, rows: int = 3) -> int | None:
        table = f"{table_name}_{len(merged)}"
        keyed = f"(id BIGINT, {columns}, PRIMARY KEY (id) NOT ENFORCED)"
        spark.sql(
            f"CREATE TABLE {table} {keyed} TBLPROPERTIES ('bucket'='1', 'format-version'='3', 'write-only'='true')"
        )
        spark.sql(f"INSERT INTO {table} SELECT id, {value} FROM range({rows})")
        if change is not None:
            spark.sql(f"ALTER TABLE {table} {change}")
        spark.sql(f"DELETE FROM {table} WHERE id = 1")
        spark.sql(f"CALL lake.system.compact('{table}', full => true)")
        assert spark.table(table).count() == rows - 1
        return merged[-1]

    assert answer("v STRING", "'a'") == 2
    assert answer("s STRUCT<a: INT>", "named_struct('a', 1)") == 2
    assert answer("s STRUCT<a: INT>", "named_struct('a', 1)", change="ALTER COLUMN s.a TYPE BIGINT") is None
    assert answer("s STRUCT<a: INT>", "named_struct('a', 1)", change="ADD COLUMN s.b INT") is None
    assert answer("v VARIANT", "parse_json('1')") is None
    assert answer("v STRING", "'a'", change="WRITE ORDERED BY v DESC") == 2
    with planned(spark, compacted_bytes=4_000, sorted_bytes=1_000):
        assert answer("v STRING", "'a'", rows=30) == 29
        assert answer("v STRING", "'a'", rows=40) is None
        assert answer("v STRING", "repeat(uuid(), 30)", rows=30) is None


def test_a_file_that_is_gone_is_told(spark: SparkSession, warehouse: Path, table_name: str) -> None:
    properties = "'bucket'='1', 'write-only'='true'"
    spark.sql(f"CREATE TABLE {table_name} (id INT, PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES ({properties})")
    for id in range(2):
        spark.sql(f"INSERT INTO {table_name} VALUES ({id})")
    next(warehouse.joinpath(*table_name.split(".")[1:], "data").rglob("*.parquet")).unlink()
    with pytest.raises(Exception, match="FILE_NOT_FOUND"):
        spark.sql(f"CALL lake.system.compact('{table_name}', full => true)")
