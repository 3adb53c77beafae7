"""Files with page indexes: each reader finds each value by what it prunes by, and rows keep their positions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from crossread.readers import by_duckdb, by_polars, by_pyiceberg
from judges.canonical import canonical_rows
from judges.judged import Judged
from judges.pyiceberg_judge import latest_metadata
from stretched_columns import MAKERS, stretched

_TYPES = {
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "small": "DECIMAL(9, 2)",
    "middle": "DECIMAL(18, 3)",
    "large": "DECIMAL(30, 1)",
    "day": "DATE",
    "ts": "TIMESTAMP_NTZ",
    "tz": "TIMESTAMP",
    "s": "STRING",
    "b": "BINARY",
    "fixed": "FIXED(5)",
    "uuid": "UUID",
    "flag": "BOOLEAN",
}
_SMALL = "'write.parquet.page-row-limit'='40', 'write.parquet.row-group-limit'='500'"
_FLOATS = ("f", "d")


def _filled(judged: Judged, seed: int, rows: int, properties: str) -> dict[str, list[Any]]:
    """Fills the table, in one file, with columns of all types and one of structs; returns their values."""
    rng = random.Random(seed)
    columns = {name: stretched(rng, rows, make) for name, (_, make) in MAKERS.items()}
    columns["uuid"] = [None if one is None else str(UUID(bytes=one)) for one in columns["uuid"]]
    ddl = ", ".join(f"{name} {type}" for name, type in _TYPES.items())
    judged.spark.sql(
        f"CREATE TABLE {judged.table} (n INT, {ddl}, p STRUCT<x: BIGINT, t: STRING>) TBLPROPERTIES ({properties})"
    )
    points = [None if x is None else {"x": x, "t": t} for x, t in zip(columns["l"], columns["s"], strict=True)]
    spark_types = {"fixed": pa.binary(), "uuid": pa.string(), "ts": pa.timestamp("us"), "tz": pa.timestamp("us", "UTC")}
    spark_types |= {"i": pa.int32(), "f": pa.float32(), "large": pa.decimal128(30, 1), "middle": pa.decimal128(18, 3)}
    arrays = {name: pa.array(values, spark_types.get(name)) for name, values in columns.items()}
    arrays["small"] = pa.array(columns["small"], pa.decimal128(9, 2))
    table = pa.table({"n": pa.array(range(rows), pa.int32()), **arrays, "p": points})
    judged.spark.createDataFrame(table).coalesce(1).orderBy("n").coalesce(1).writeTo(judged.table).append()
    return columns


def _files(judged: Judged) -> list[str]:
    rows = judged.spark.sql(f"SELECT file_path FROM {judged.table}.files").collect()
    return [row.file_path.removeprefix("file:") for row in rows]


def _plain(session: SparkSession, judged: Judged, file: str) -> DataFrame:
    """The file as Spark's reader has it, which does not know uuids."""
    return session.read.schema(judged.spark.table(judged.table).drop("uuid").schema).parquet(file)


def _literal(name: str, value: Any) -> str:
    match value:
        case bytes():
            return f"X'{value.hex()}'"
        case bool():
            return str(value)
        case str():
            return f"'{value}'"
        case datetime():
            return f"TIMESTAMP{'_NTZ' if name == 'ts' else ''} '{value.replace(tzinfo=None)}'"
        case date():
            return f"DATE '{value}'"
        case float():
            return f"CAST('{value!r}' AS {_TYPES[name]})"
        case Decimal():
            return f"CAST('{value}' AS {_TYPES[name]})"
    return f"CAST({value} AS {_TYPES[name]})"


def _same(one: Any, other: Any) -> bool:
    return one is not None and (one == other or (one != one and other != other))


def _below(one: Any, other: Any) -> bool:
    return one is not None and one == one and one < other


def _asked(name: str, values: Sequence[Any], rng: random.Random) -> dict[str, int]:
    """Conditions on a column, and of how many rows each is true: single values, least and most, a range, nulls."""
    there = [one for one in values if one is not None]
    numbers = [one for one in there if one == one]
    chosen = [*rng.sample(there, min(6, len(there))), min(numbers), max(numbers)]
    asked = {f"{name} = {_literal(name, one)}": sum(_same(other, one) for other in values) for one in chosen}
    middle = rng.choice(numbers)
    asked[f"{name} < {_literal(name, middle)}"] = sum(_below(one, middle) for one in values)
    asked[f"{name} IS NULL"] = len(values) - len(there)
    return asked


def _counts(ask: Callable[[str], list[list[Any]]], relation: str, conditions: Sequence[str]) -> list[int]:
    branches = [
        f"SELECT {number} AS a, count(*) AS c FROM {relation} WHERE {one}" for number, one in enumerate(conditions)
    ]
    return [count for _, count in sorted(ask(" UNION ALL ".join(branches)))]


@pytest.mark.turns(1, pool="values of pages")
@pytest.mark.parametrize("seed", range(4))
def test_no_value_is_missed(judged: Judged, seed: int) -> None:
    spark, t = judged.spark, judged.table
    columns = _filled(judged, seed, 1_800, _SMALL)
    (file,) = _files(judged)
    footer = pq.read_metadata(file)
    assert footer.num_row_groups == 4
    indexed = [footer.row_group(0).column(number).has_offset_index for number in range(footer.num_columns)]
    assert all(indexed)
    rng = random.Random(seed)
    sessions = {"vectorized": spark.newSession(), "by rows": spark.newSession()}
    for way, session in sessions.items():
        session.conf.set("spark.sql.parquet.enableVectorizedReader", str(way == "vectorized").lower())
        _plain(session, judged, file).createOrReplaceTempView("plain")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, values in columns.items():
            asked = _asked(name, values, rng)
            conditions, expected = list(asked), list(asked.values())
            found = {
                "sqlext": _counts(lambda query: canonical_rows(spark.sql(query)), t, conditions),
                "Iceberg": _counts(judged.iceberg.sql, t, conditions),
            }
            if name != "uuid":
                for way, session in sessions.items():
                    # Parquet's statistics leave out NaN, which Spark's plain reader does not know.
                    keep = [number for number, one in enumerate(conditions) if "nan" not in one]
                    counts = _counts(_of(session), "plain", [conditions[number] for number in keep])
                    assert counts == [expected[number] for number in keep], (way, name, seed)
            if name == "uuid":
                # Iceberg 1.12 orders uuids by signed halves, and so passes over row groups that have them.
                del found["Iceberg"]
            for reader, counts in found.items():
                wrong = [(one, a, b) for one, a, b in zip(conditions, counts, expected, strict=True) if a != b]
                assert not wrong, (reader, seed, wrong)
            _check_by_values(connection, file, name, values, rng.sample(range(len(values)), 12))


def _of(session: SparkSession) -> Callable[[str], list[list[Any]]]:
    return lambda query: canonical_rows(session.sql(query))


def _check_by_values(
    connection: duckdb.DuckDBPyConnection, file: str, name: str, values: Sequence[Any], places: Sequence[int]
) -> None:
    """DuckDB and Polars, by the values at these places."""
    for value in {repr(values[place]): values[place] for place in places if values[place] is not None}.values():
        count = sum(_same(one, value) for one in values)
        query = f"SELECT count(*) FROM '{file}' WHERE {name} = CAST(? AS {_OF_DUCKDB.get(name, 'BLOB')})"
        assert connection.execute(query, [value]).fetchone() == (count,), (name, value)
        if name not in ("uuid", "fixed", "large"):
            column = pl.col(name)
            same = (
                column.is_nan()
                if value != value
                else column == pl.lit(value, dtype=pl.scan_parquet(file).collect_schema()[name])
            )
            assert pl.scan_parquet(file).filter(same).select(pl.len()).collect().item() == count, (name, value)


_OF_DUCKDB = {name: type.replace("STRING", "VARCHAR").replace("BINARY", "BLOB") for name, type in _TYPES.items()} | {
    "ts": "TIMESTAMP",
    "tz": "TIMESTAMPTZ",
    "fixed": "BLOB",
}


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_every_reader_has_every_row(judged: Judged, version: str) -> None:
    _filled(judged, 7, 1_300, f"{_SMALL}, 'write.parquet.page-version'='{version}'")
    judged.check()
    rows = canonical_rows(judged.spark.table(judged.table))
    metadata = latest_metadata(judged.warehouse.joinpath(*judged.table.split(".")[1:]))
    for reader in (by_pyiceberg, by_duckdb, by_polars):
        found = reader(metadata)
        assert found == rows or not isinstance(found, list), reader
    (file,) = _files(judged)
    session = judged.spark.newSession()
    for vectorized in ("true", "false"):
        session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
        ours = judged.spark.table(judged.table).drop("uuid")
        assert canonical_rows(_plain(session, judged, file)) == canonical_rows(ours)


def test_spark_reads_the_page_that_may_have_the_value(judged: Judged) -> None:
    spark, t = judged.spark, judged.table
    spark.sql(f"CREATE TABLE {t} (id BIGINT, v STRING)")
    spark.sql(f"INSERT INTO {t} SELECT id, concat('v', id) FROM range(0, 100000, 1, 1)")
    (file,) = _files(judged)
    # Not by equality, which the driver may look up without a scan of Spark.
    one = "id > 70006 AND id < 70008"
    for frame in (spark.sql(f"SELECT v FROM {t} WHERE {one}"), spark.read.parquet(file).where(one)):
        assert frame.count() == 1
        assert _rows_read(frame) == 20_000


def _rows_read(frame: DataFrame) -> int:
    """What the scan of the query's own run read."""
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    leaves = plan.collectLeaves()
    (scan,) = (leaves.apply(number) for number in range(leaves.size()))
    return int(scan.metrics().apply("numOutputRows").value())


@pytest.mark.turns(1, pool="values of pages")
@pytest.mark.parametrize("version", [2, 3])
def test_changes_of_rows_hit_those_rows_where_pages_are_passed_over(judged: Judged, version: int) -> None:
    """Positions of rows are those in the file, whatever pages their reader has passed over."""
    spark, t = judged.spark, judged.table
    spark.sql(
        f"CREATE TABLE {t} (id BIGINT, v STRING, w INT, PRIMARY KEY (id))"
        f" TBLPROPERTIES ({_SMALL}, 'format-version'='{version}')"
    )
    spark.sql(f"INSERT INTO {t} SELECT id, concat('v', id), 0 FROM range(0, 2000, 1, 1)")
    model = {number: (f"v{number}", 0) for number in range(2_000)}
    rng = random.Random(version)
    for turn in range(1, 9):
        first = rng.randrange(1_900)
        keys = sorted(rng.sample(range(first, first + 90), 3))
        match turn % 4:
            case 0:
                spark.sql(f"DELETE FROM {t} WHERE id IN ({', '.join(map(str, keys))})")
                for key in keys:
                    model.pop(key, None)
            case 1:
                spark.sql(f"UPDATE {t} SET w = {turn} WHERE id BETWEEN {keys[0]} AND {keys[2]} AND v <> 'v{keys[1]}'")
                for key in range(keys[0], keys[2] + 1):
                    if key in model and model[key][0] != f"v{keys[1]}":
                        model[key] = (model[key][0], turn)
            case 2:
                rows = ", ".join(f"({key}, 'u{key}', {turn})" for key in keys)
                spark.sql(f"UPSERT INTO {t} VALUES {rows}")
                model |= {key: (f"u{key}", turn) for key in keys}
            case 3:
                spark.sql(f"DELETE FROM {t} WHERE id > {keys[0]} AND id < {keys[1]}")
                for key in range(keys[0] + 1, keys[1]):
                    model.pop(key, None)
        some = f"SELECT id, v, w FROM {t} WHERE id BETWEEN {keys[0] - 5} AND {keys[2] + 5}"
        expected = [[key, *model[key]] for key in range(keys[0] - 5, keys[2] + 6) if key in model]
        assert sorted(canonical_rows(spark.sql(some))) == expected, turn
        assert sorted(judged.iceberg.sql(some)) == expected, turn
    assert sorted(canonical_rows(spark.table(t))) == [[key, *model[key]] for key in sorted(model)]
    positions = spark.sql(f"SELECT id, _pos FROM {t} WHERE id = 777 OR id = 1555").collect()
    every = {row.id: row._pos for row in spark.sql(f"SELECT id, _pos FROM {t}").collect()}
    assert {row.id: row._pos for row in positions} == {key: every[key] for key in (777, 1_555) if key in model}


def test_deletes_of_other_engines_hit_those_rows(judged: Judged) -> None:
    """Iceberg's runtime deletes by positions that it counts in files with page indexes."""
    spark, t = judged.spark, judged.table
    spark.sql(
        f"CREATE TABLE {t} (id BIGINT, v STRING) TBLPROPERTIES ({_SMALL}, 'format-version'='2',"
        " 'write.delete.mode'='merge-on-read')"
    )
    spark.sql(f"INSERT INTO {t} SELECT id, concat('v', id) FROM range(0, 2000, 1, 1)")
    judged.iceberg.sql(f"DELETE FROM {t} WHERE id IN (3, 41, 777, 1999) OR v = 'v1000'")
    spark.sql(f"REFRESH TABLE {t}")
    judged.check()
    assert spark.table(t).agg(F.count("*"), F.sum("id")).first() == (1_995, 1_999_000 - 3 - 41 - 777 - 1_999 - 1_000)
