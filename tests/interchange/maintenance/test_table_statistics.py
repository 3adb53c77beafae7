"""compute_table_stats beside Iceberg's, and what the optimiser of each engine knows by what the other computed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table.puffin import PuffinFile
from pyiceberg.types import NestedField, UUIDType
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge, JudgeError

_COLUMNS = (
    "`id` BIGINT, `flag` BOOLEAN, `n` INT, `x` FLOAT, `y` DOUBLE, `price` DECIMAL(20, 3), `d` DATE, `t` TIMESTAMP,"
    " `tn` TIMESTAMP_NTZ, `s` STRING, `b` BINARY, `with.dot` STRING, `nested` STRUCT<`leaf`: INT, `list`: ARRAY<INT>>"
)
_ROWS = (
    "SELECT id, id % 2 = 0, CAST(id % 9 AS INT), CAST(id % 5 AS FLOAT), CASE WHEN id = 3 THEN double('NaN') ELSE id / 7"
    " END, CAST(id % 11 AS DECIMAL(20, 3)), DATE'2026-01-01' + CAST(id % 31 AS INT),"
    " TIMESTAMP'2026-01-01 00:00:00' + make_dt_interval(CAST(id % 40 AS INT)),"
    " TIMESTAMP_NTZ'2026-01-01 00:00:00' + make_dt_interval(CAST(id % 41 AS INT)),"
    " CASE WHEN id % 10 = 0 THEN NULL WHEN id % 10 = 1 THEN '' ELSE concat('näme ', id % 100) END,"
    " CAST(CAST(id % 13 AS STRING) AS BINARY), concat('.', id % 3),"
    " named_struct('leaf', CAST(id % 4 AS INT), 'list', array(1)) FROM range({rows})"
)
_LEAVES = ["id", "flag", "n", "x", "y", "price", "d", "t", "tn", "s", "b"]


class Folder:
    """A table of the warehouse, read without an engine."""

    def __init__(self, warehouse: Path, table: str) -> None:
        self.path = warehouse.joinpath(*table.split(".")[1:])

    def metadata(self) -> dict[str, Any]:
        files = (self.path / "metadata").glob("v*.metadata.json")
        newest = max(files, key=lambda file: int(file.name[1:].partition(".")[0]))
        found: dict[str, Any] = json.loads(newest.read_text())
        return found

    def statistics(self) -> dict[str, Any]:
        (found,) = self.metadata()["statistics"]
        return dict(found)

    def sketches(self) -> dict[tuple[int, ...], bytes]:
        """By field ids; compressed ones without compression."""
        data = Path(self.statistics()["statistics-path"].removeprefix("file://")).read_bytes()
        assert len(data) == self.statistics()["file-size-in-bytes"]
        file = PuffinFile(data)
        decompress = zstandard.ZstdDecompressor().decompressobj
        parts = {
            tuple(blob.fields): (blob, data[blob.offset : blob.offset + blob.length]) for blob in file.footer.blobs
        }
        return {
            fields: decompress().decompress(part) if blob.compression_codec else part
            for fields, (blob, part) in parts.items()
        }


def described(blobs: list[dict[str, Any]]) -> list[Any]:
    return sorted((one["type"], one["fields"], one["sequence-number"], one["properties"]) for one in blobs)


@pytest.fixture
def cost_based(spark: SparkSession, iceberg: IcebergJudge) -> Iterator[None]:
    for sql in (spark.sql, iceberg.sql):
        sql("SET spark.sql.cbo.enabled=true")
    yield
    for sql in (spark.sql, iceberg.sql):
        sql("RESET spark.sql.cbo.enabled")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_sketches_are_icebergs(
    spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str, version: int
) -> None:
    ours, theirs = f"{table_name}_ours", f"{table_name}_theirs"
    for table in (ours, theirs):
        iceberg.sql(f"CREATE TABLE {table} ({_COLUMNS}) USING iceberg TBLPROPERTIES ('format-version'='{version}')")
        iceberg.sql(f"INSERT INTO {table} {_ROWS.format(rows=3000)}")
    columns = f"columns => array({', '.join(map(repr, _LEAVES))}, 'nested.leaf')"
    (row,) = canonical_rows(spark.sql(f"CALL lake.system.compute_table_stats(table => '{ours}', {columns})"))
    iceberg.sql(f"CALL lake.system.compute_table_stats(table => '{theirs}', {columns})")
    one, other = (Folder(warehouse, table) for table in (ours, theirs))
    assert row == [one.statistics()["statistics-path"]]
    assert described(one.statistics()["blob-metadata"]) == described(other.statistics()["blob-metadata"])
    assert one.sketches() == other.sketches()
    ndv = {tuple(blob["fields"]): blob["properties"]["ndv"] for blob in one.statistics()["blob-metadata"]}
    assert (ndv[(1,)], ndv[(10,)]) == ("3000", "80")
    # By default all columns; Iceberg's fails for a column whose name has a dot.
    spark.sql(f"CALL lake.system.compute_table_stats('{ours}')")
    assert len(one.sketches()) == len(_LEAVES) + 1
    with pytest.raises(JudgeError):
        iceberg.sql(f"CALL lake.system.compute_table_stats('{theirs}')")


def test_sketches_of_many_values_are_united(
    spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str
) -> None:
    """Of more values than a sketch holds, in tasks that may be divided in other ways: estimates are near."""
    ours, theirs = f"{table_name}_ours", f"{table_name}_theirs"
    for table in (ours, theirs):
        spark.sql(f"CREATE TABLE {table} (id BIGINT, s STRING) PARTITIONED BY (bucket(4, id))")
        spark.sql(f"INSERT INTO {table} SELECT id, concat('s', id DIV 2) FROM range(200000)")
        spark.sql(f"DELETE FROM {table} WHERE id < 50000")
    spark.sql(f"CALL lake.system.compute_table_stats('{ours}')")
    iceberg.sql(f"CALL lake.system.compute_table_stats('{theirs}')")
    for table in (ours, theirs):
        blobs = Folder(warehouse, table).statistics()["blob-metadata"]
        counts = {tuple(blob["fields"]): int(blob["properties"]["ndv"]) for blob in blobs}
        assert counts[(1,)] == pytest.approx(150_000, rel=0.06)
        assert counts[(2,)] == pytest.approx(75_000, rel=0.06)


def test_names_are_those_of_the_snapshot_or_of_the_table(
    spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str
) -> None:
    """Iceberg's takes the names of the snapshot's schema, which a later statement may have changed."""
    t = table_name
    iceberg.sql(f"CREATE TABLE {t} (a INT, b INT) USING iceberg")
    iceberg.sql(f"INSERT INTO {t} VALUES (1, 1), (2, 1), (NULL, 1)")
    iceberg.sql(f"ALTER TABLE {t} RENAME COLUMN a TO c")
    iceberg.sql(f"ALTER TABLE {t} ADD COLUMN a STRING")
    ((snapshot,),) = iceberg.sql(f"SELECT snapshot_id FROM {t}.snapshots")
    folder = Folder(warehouse, t)
    for arguments, field in (("columns => array('c')", 1), (f"snapshot_id => {snapshot}, columns => array('a')", 1)):
        spark.sql(f"CALL lake.system.compute_table_stats(table => '{t}', {arguments})")
        (blob,) = folder.statistics()["blob-metadata"]
        assert (blob["fields"], blob["properties"]) == ([field], {"ndv": "2"})
    iceberg.sql(f"CALL lake.system.compute_table_stats(table => '{t}', columns => array('a'))")
    assert folder.statistics()["blob-metadata"][0]["fields"] == [1]
    spark.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS A, c")
    blobs = folder.statistics()["blob-metadata"]
    assert [(blob["fields"], blob["properties"]["ndv"]) for blob in blobs] == [([3], "0"), ([1], "2")]


def test_a_uuid_is_16_bytes(
    spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str, tmp_path: Path
) -> None:
    """As the specification says; Iceberg's Spark runtime takes its text. Of bytes both make one sketch."""
    catalog = SqlCatalog("source", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("db")
    source = catalog.create_table("db.uuids", Schema(NestedField(1, "u", UUIDType(), required=False)))
    values = [uuid.UUID(int=number % 3 * 2**100) for number in range(9)]
    source.append(pa.table({"u": pa.array([one.bytes for one in values], pa.uuid())}))
    uuids, binaries = f"{table_name}_uuids", f"{table_name}_binaries"
    spark.sql(f"CALL lake.system.register_table('{uuids}', '{source.metadata_location}')")
    spark.sql(f"ANALYZE TABLE {uuids} COMPUTE STATISTICS FOR ALL COLUMNS")
    iceberg.sql(f"CREATE TABLE {binaries} (u BINARY) USING iceberg")
    rows = ", ".join(f"(X'{one.hex}')" for one in values)
    iceberg.sql(f"INSERT INTO {binaries} VALUES {rows}")
    iceberg.sql(f"CALL lake.system.compute_table_stats('{binaries}')")
    assert Folder(warehouse, uuids).sketches() == Folder(warehouse, binaries).sketches()


def test_both_refuse_the_same_arguments(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    t = table_name
    spark.sql(f"CREATE TABLE {t} (id INT, list ARRAY<INT>, s STRUCT<f: INT>)")
    assert spark.sql(f"CALL lake.system.compute_table_stats('{t}')").collect() == []
    assert iceberg.sql(f"CALL lake.system.compute_table_stats('{t}')") == []
    spark.sql(f"INSERT INTO {t} VALUES (1, array(1), named_struct('f', 1))")
    for arguments in (
        "snapshot_id => 1",
        "columns => array()",
        "columns => array('no')",
        "columns => array('list')",
        "columns => array('list.element')",
        "columns => array('s')",
    ):
        with pytest.raises(PySparkException):
            spark.sql(f"CALL lake.system.compute_table_stats(table => '{t}', {arguments})")
        with pytest.raises(JudgeError):
            iceberg.sql(f"CALL lake.system.compute_table_stats(table => '{t}', {arguments})")


def test_each_engines_optimiser_reads_the_others(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, cost_based: None
) -> None:
    for statement, read in ((spark.sql, iceberg.sql), (iceberg.sql, lambda text: canonical_rows(spark.sql(text)))):
        table = f"{table_name}_{statement.__self__.__class__.__name__}"  # type: ignore[attr-defined]
        statement(f"CREATE TABLE {table} (id BIGINT, kind STRING) USING iceberg")
        statement(f"INSERT INTO {table} SELECT id, concat('k', id % 7) FROM range(100)")
        statement(f"CALL lake.system.compute_table_stats(table => '{table}')")
        figures = dict(read(f"DESCRIBE EXTENDED {table} kind"))
        assert figures["distinct_count"] == "7"
        assert dict(read(f"DESCRIBE EXTENDED {table} id"))["distinct_count"] == "100"
