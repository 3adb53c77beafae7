"""Files of Spark and PyArrow taken in by add_files: their rows, and the metrics that Iceberg finds in them too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.judged import Judged

COLUMNS = (
    "id INT, b BOOLEAN, l BIGINT, f FLOAT, d DOUBLE, m1 DECIMAL(9,2), m2 DECIMAL(38,10), dt DATE, ts TIMESTAMP,"
    " tn TIMESTAMP_NTZ, s STRING, bin BINARY, list ARRAY<INT>, map MAP<STRING, DOUBLE>,"
    " st STRUCT<x: INT, y: STRUCT<z: DATE>>"
)
VALUES = (
    "(1, true, 9223372036854775807, float('NaN'), double('-Infinity'), 9999999.99,"
    " 1234567890123456789012345678.0123456789, DATE'2024-02-29', TIMESTAMP'1969-12-31 23:59:59.999999Z',"
    " TIMESTAMP_NTZ'2024-02-29 12:34:56.789012', 'žluť 🐎, a long text of more than sixteen', X'00FF', array(1, NULL),"
    " map('a', 1.5D), named_struct('x', 1, 'y', named_struct('z', DATE'1969-12-31'))),"
    " (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),"
    " (3, false, -1, 0.5, -0.0D, -0.01, 0, DATE'1970-01-01', TIMESTAMP'2024-07-01 00:00:00Z',"
    " TIMESTAMP_NTZ'1969-07-20 20:17:40', '', X'', array(), map(), named_struct('x', NULL, 'y', NULL))"
)
# The nulls of timestamps in Parquet's old form, which Spark writes, are counted by sqlext alone.
METRICS = (
    "map_filter(value_counts, (k, v) -> k <> 9), map_filter(null_value_counts, (k, v) -> k <> 9), lower_bounds,"
    " upper_bounds, column_sizes, record_count, file_size_in_bytes"
)


def add(spark: SparkSession, table: str, source: str, more: str = "") -> list[int]:
    (row,) = spark.sql(f"CALL lake.system.add_files('{table}', '{source}'{more})").collect()
    return list(row)


def test_every_type_and_its_metrics(judged: Judged, tmp_path: Path) -> None:
    """Bounds, counts and sizes are those that Iceberg's own add_files finds in the same files."""
    spark, t, other = judged.spark, judged.table, f"{judged.table}_by_iceberg"
    for name in (t, other, f"{t}_source"):
        spark.sql(f"CREATE TABLE {name} ({COLUMNS})")
    spark.sql(f"INSERT INTO {t}_source VALUES {VALUES}")
    spark.table(f"{t}_source").coalesce(1).write.parquet(str(tmp_path / "f"))
    assert add(spark, t, f"`parquet`.`{tmp_path}/f`") == [1, 1]
    judged.iceberg.sql(f"CALL lake.system.add_files(table => '{other}', source_table => '`parquet`.`{tmp_path}/f`')")
    judged.check()
    query = f"SELECT {METRICS} FROM {{}}.files"
    assert canonical_rows(spark.sql(query.format(t))) == judged.iceberg.sql(query.format(other))
    assert spark.sql(f"SELECT id FROM {t} WHERE d < 0 OR f > 100").count() == 1
    properties = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {t}").collect()}
    assert '"names":["st"]' in properties["schema.name-mapping.default"]


def test_partitions_from_folders(judged: Judged, tmp_path: Path) -> None:
    spark, t = judged.spark, judged.table
    rows = "(1, 7L, 'ž 1/2=%', DATE'1969-12-31'), (2, NULL, NULL, NULL), (3, 7L, 'a', DATE'2024-02-29')"
    source = spark.sql(f"SELECT * FROM VALUES {rows} AS v(id, i, s, d)")
    source.coalesce(1).write.partitionBy("i", "s", "d").parquet(str(tmp_path / "f"))
    spark.sql(f"CREATE TABLE {t} (id INT, i BIGINT, s STRING, d DATE) PARTITIONED BY (i, s, d)")
    assert add(spark, t, f"`parquet`.`{tmp_path}/f`", ", map('i', '007', 's', 'a')") == [1, 1]
    assert add(spark, t, f"`parquet`.`{tmp_path}/f`", ", map('i', '__HIVE_DEFAULT_PARTITION__')") == [1, 1]
    judged.check()
    with pytest.raises(Exception, match="FILES_ALREADY_IN_TABLE"):
        add(spark, t, f"`parquet`.`{tmp_path}/f`")
    assert judged.count() == 2
    counts = spark.sql(f"SELECT count(*), count(i), min(i), max(d), count(id) FROM {t}")
    assert canonical_rows(counts) == [[2, 1, 7, "2024-02-29", 2]]
    assert add(spark, t, f"`parquet`.`{tmp_path}/f`", ", check_duplicate_files => false") == [3, 3]
    judged.check()
    judged.run("DELETE FROM {table} WHERE i IS NULL")
    judged.run("UPDATE {table} SET s = 'changed' WHERE id = 3")
    with pytest.raises(Exception, match="partition_filter names id"):
        add(spark, t, f"`parquet`.`{tmp_path}/f`", ", map('id', '1')")
    assert add(spark, t, f"`parquet`.`{tmp_path}/f`", ", map('s', 'none')") == [0, 0]


def test_partitions_from_bounds(judged: Judged, tmp_path: Path) -> None:
    """Where no folder tells a partition, all rows of a file have to share it."""
    spark, t = judged.spark, judged.table
    spark.sql(f"CREATE TABLE {t} (id INT, at TIMESTAMP, s STRING) PARTITIONED BY (days(at), bucket(4, id))")
    day = pa.array([0, 86_399_999_999], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"id": pa.array([3, 3], pa.int32()), "at": day, "s": ["a", None]}), tmp_path / "1.parquet")
    assert add(spark, t, f"parquet.`{tmp_path}`") == [1, 1]
    judged.check()
    assert spark.sql(f"SELECT s FROM {t} WHERE at >= TIMESTAMP'1970-01-02'").count() == 0
    two_days = pa.array([0, 86_400_000_000], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"id": pa.array([3, 3], pa.int32()), "at": two_days}), tmp_path / "2.parquet")
    with pytest.raises(Exception, match=r"FILE_NOT_ADDED.*2\.parquet.*give no single at_day"):
        add(spark, t, f"parquet.`{tmp_path}/2.parquet`")
    in_millis = pa.array([0], pa.timestamp("ms", "UTC"))
    pq.write_table(pa.table({"id": pa.array([3], pa.int32()), "at": in_millis}), tmp_path / "3.parquet")
    with pytest.raises(Exception, match=r"3\.parquet.*timestamp\[ms, tz=UTC\], which is not read as timestamptz"):
        add(spark, t, f"parquet.`{tmp_path}/3.parquet`")


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_other_formats(judged: Judged, tmp_path: Path, file_format: str) -> None:
    spark, t = judged.spark, judged.table
    spark.sql(f"CREATE TABLE {t} (id INT, s STRING, l ARRAY<INT>, p DATE) PARTITIONED BY (p)")
    folder = tmp_path / "a b" / "p=2024-02-29"
    folder.mkdir(parents=True)
    rows = [{"id": 1, "s": "x", "l": [1]}, {"id": None, "s": None, "l": None}]
    if file_format == "orc":
        types = pa.schema([("id", pa.int32()), ("s", pa.string()), ("l", pa.list_(pa.int32()))])
        orc.write_table(pa.Table.from_pylist(rows, types), folder / "f.orc")
    else:
        types = {"id": "int", "s": "string", "l": {"type": "array", "items": "int"}}
        fields = [{"name": name, "type": ["null", type_]} for name, type_ in types.items()]
        with (folder / "f.avro").open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "row", "fields": fields}, rows)
    assert add(spark, t, f"{file_format}.`{tmp_path}/a b`") == [1, 1]
    assert canonical_rows(spark.table(t)) == judged.iceberg.sql(f"SELECT * FROM {t}")
    assert spark.sql(f"SELECT id FROM {t} WHERE p = DATE'2024-02-29' AND id = 1").count() == 1


def test_tables_of_spark(judged: Judged, tmp_path: Path) -> None:
    """Partitions at places of their own are what the catalog says."""
    spark, t = judged.spark, judged.table
    spark.sql(f"CREATE TABLE {t} (id INT, p STRING) PARTITIONED BY (p)")
    source = "spark_catalog.default.added_files"
    spark.sql(f"CREATE TABLE {source} (id INT, p STRING) USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}/a'")
    try:
        spark.sql(f"INSERT INTO {source} VALUES (1, 'x'), (2, 'y y'), (3, NULL)")
        assert add(spark, t, source, ", map('p', 'x')") == [1, 1]
        assert add(spark, t, "default.added_files", ", map('p', 'y y')") == [1, 1]
        judged.check()
        assert judged.count() == 2
    finally:
        spark.sql(f"DROP TABLE {source}")


def test_refused_sources(judged: Judged, tmp_path: Path) -> None:
    spark, t = judged.spark, judged.table
    spark.sql(f"CREATE TABLE {t} (id INT NOT NULL, s STRING)")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW a_view AS SELECT 1 AS id")
    refused: dict[str, Any] = {
        "`csv`.`/tmp/x`": "TABLE_OR_VIEW_NOT_FOUND",
        f"parquet.`{tmp_path}/nothing`": "there is no data file in it",
        "parquet.`gs://bucket/x`": "UNSUPPORTED_LOCATION",
        "spark_catalog.default.nothing": "TABLE_OR_VIEW_NOT_FOUND",
        t: "INVALID_SOURCE_TABLE",
    }
    for source, message in refused.items():
        with pytest.raises(Exception, match=message):
            add(spark, t, source)
    assert judged.count() == 0
