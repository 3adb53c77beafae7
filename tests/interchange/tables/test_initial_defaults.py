"""Rows that are older than a column, in files of every format, read as Iceberg's runtime reads them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge

OLD = "{id}, named_struct('a', 1), array(named_struct('x', 1), NULL), map('k', named_struct('x', 2))"
EMPTY = "{id}, NULL, NULL, NULL"
CREATE = (
    "CREATE TABLE {t} (id INT, s STRUCT<a: INT>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<x: INT>>)"
    " TBLPROPERTIES ('format-version'='3')"
)
ADD = (
    "ALTER TABLE {t} ADD COLUMNS s.b STRING DEFAULT 'sb', l.element.y DATE DEFAULT DATE'2024-02-29',"
    " m.value.z DECIMAL(9,2) DEFAULT 1.5, n INT DEFAULT 7, bin BINARY DEFAULT X'00FF',"
    " f BINARY(2) DEFAULT X'0102', u UUID DEFAULT '0b5f6c1e-1111-4222-8333-444455556660',"
    " ts TIMESTAMP DEFAULT TIMESTAMP'2024-01-01 00:00:00Z', d DECIMAL(30,6) DEFAULT 123456789012345678.5"
)


def check(spark: SparkSession, iceberg: IcebergJudge, query: str) -> list[list[object]]:
    rows = canonical_rows(spark.sql(query))
    assert rows == iceberg.sql(query)
    return rows


def test_defaults_of_every_type_and_depth(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    t = table_name
    spark.sql(CREATE.format(t=t))
    spark.sql(f"INSERT INTO {t} VALUES ({OLD.format(id=1)}), ({EMPTY.format(id=2)})")
    for first, file_format in ((11, "avro"), (21, "parquet")):
        iceberg.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default'='{file_format}')")
        iceberg.sql(f"INSERT INTO {t} VALUES ({OLD.format(id=first)}), ({EMPTY.format(id=first + 1)})")
    spark.sql(ADD.format(t=t))
    spark.sql(
        f"INSERT INTO {t} VALUES (3, named_struct('a', 3, 'b', NULL), array(named_struct('x', 3, 'y', NULL)),"
        " map('k', named_struct('x', 3, 'z', NULL)), NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    rows = check(spark, iceberg, f"SELECT * FROM {t}")
    assert rows[0][1:3] == [{"a": 1, "b": "sb"}, [{"x": 1, "y": "2024-02-29"}, None]]
    queries = (
        f"SELECT id, s.b, l[0].y FROM {t}",
        f"SELECT id, m['k'].z, bin FROM {t}",
        f"SELECT id FROM {t} WHERE s.b = 'sb' AND bin = X'00FF'",
        f"SELECT id FROM {t} WHERE u = '0b5f6c1e-1111-4222-8333-444455556660' AND n = 7",
        f"SELECT count(bin), count(n), max(n) FROM {t}",
    )
    for query in queries:
        assert check(spark, iceberg, query)
    # a variant is read row by row
    spark.sql(f"ALTER TABLE {t} ADD COLUMN v VARIANT")
    by_row = canonical_rows(spark.sql(f"SELECT id, s, l, m, n, bin, f, u, ts, d, to_json(v) FROM {t}"))
    assert by_row == [[*row, None] for row in rows]
    spark.sql(f"UPDATE {t} SET n = n + 1 WHERE s.b = 'sb'")
    check(spark, iceberg, f"SELECT id, s, l, m, n, bin, f, u, ts, d FROM {t}")


def test_defaults_in_orc_are_those_in_parquet(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    """Iceberg's reader of ORC has no defaults."""
    t = table_name
    spark.sql(CREATE.format(t=t))
    for first, file_format in ((0, "orc"), (10, "parquet")):
        iceberg.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default'='{file_format}')")
        iceberg.sql(f"INSERT INTO {t} VALUES ({OLD.format(id=first)}), ({EMPTY.format(id=first + 1)})")
    spark.sql(ADD.format(t=t))
    rows = canonical_rows(spark.table(t).sort("id"))
    assert [row[1:] for row in rows[:2]] == [row[1:] for row in rows[2:]]
    assert rows[0][1] == {"a": 1, "b": "sb"}


def test_widened_types(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    t = table_name
    nested = "STRUCT<i: INT, f: FLOAT, d: DECIMAL(5,2), l: ARRAY<INT>>"
    iceberg.sql(
        f"CREATE TABLE {t} (id INT, i INT, f FLOAT, d DECIMAL(5,2), s {nested}) USING iceberg"
        " TBLPROPERTIES ('format-version'='3')"
    )
    for number, file_format in enumerate(("orc", "avro", "parquet")):
        iceberg.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default'='{file_format}')")
        iceberg.sql(
            f"INSERT INTO {t} VALUES ({number}, -2147483648, 1.5, -999.99,"
            " named_struct('i', 1, 'f', 0.1, 'd', 1.25, 'l', array(7, NULL)))"
        )
    spark.sql(
        f"ALTER TABLE {t} ALTER COLUMN i TYPE BIGINT, f TYPE DOUBLE, d TYPE DECIMAL(20,2), s.i TYPE BIGINT,"
        " s.f TYPE DOUBLE, s.d TYPE DECIMAL(38,2), s.l.element TYPE BIGINT"
    )
    spark.sql(
        f"INSERT INTO {t} VALUES (9, 3000000000, 0.1, 123456789012345678.90,"
        " named_struct('i', 3000000000, 'f', 0.1D, 'd', 123456789012345678.90, 'l', array(3000000000)))"
    )
    assert len(check(spark, iceberg, f"SELECT * FROM {t}")) == 4
    assert len(check(spark, iceberg, f"SELECT id, s.i FROM {t} WHERE i < 0 AND f = 1.5 AND d = -999.99")) == 3


def test_dates_become_timestamps(spark: SparkSession, table_name: str) -> None:
    """Iceberg's runtime refuses this change of format version 3."""
    t = table_name
    spark.sql(f"CREATE TABLE {t} (d DATE, s STRUCT<d: DATE>) TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {t} VALUES (DATE'1969-12-31', named_struct('d', DATE'2024-02-29')), (NULL, NULL)")
    spark.sql(f"ALTER TABLE {t} ALTER COLUMN d TYPE TIMESTAMP_NTZ, s.d TYPE TIMESTAMP_NTZ")
    spark.sql(f"INSERT INTO {t} VALUES (TIMESTAMP_NTZ'2024-01-01 10:00:00.5', NULL)")
    assert canonical_rows(spark.sql(f"SELECT CAST(d AS STRING), CAST(s.d AS STRING) FROM {t}")) == [
        ["1969-12-31 00:00:00", "2024-02-29 00:00:00"],
        ["2024-01-01 10:00:00.5", None],
        [None, None],
    ]
    assert spark.sql(f"SELECT * FROM {t} WHERE d < TIMESTAMP_NTZ'1970-01-01 00:00:00'").count() == 1


def test_required_columns_with_a_default(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    """Of every depth, in files older than they are, whatever else is done to the table's rows."""
    t = table_name
    spark.sql(
        f"CREATE TABLE {t} (id INT, s STRUCT<a: INT>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<x: INT>>,"
        " PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='3', 'write.upsert.mode'='equality')"
    )
    for first, file_format in ((11, "avro"), (21, "parquet")):
        iceberg.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default'='{file_format}')")
        iceberg.sql(f"INSERT INTO {t} VALUES ({OLD.format(id=first)}), ({EMPTY.format(id=first + 1)})")
    spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default'='parquet')")
    spark.sql(f"INSERT INTO {t} SELECT id, named_struct('a', 1), NULL, NULL FROM range(1, 9, 1, 1)")
    old = spark.sql(f"SELECT snapshot_id FROM {t}.snapshots ORDER BY committed_at DESC LIMIT 1").collect()[0][0]
    spark.sql(f"DELETE FROM {t} WHERE id = 2")
    spark.sql(f"UPSERT INTO {t} VALUES (3, named_struct('a', 30), NULL, NULL)")
    spark.sql(
        f"ALTER TABLE {t} ADD COLUMNS n INT NOT NULL DEFAULT 7, bin BINARY NOT NULL DEFAULT X'00FF',"
        " s.b STRING NOT NULL DEFAULT 'sb', l.element.y DATE NOT NULL DEFAULT DATE'2024-02-29',"
        " m.value.z DECIMAL(30,2) NOT NULL DEFAULT 1.5"
    )
    rows = check(spark, iceberg, f"SELECT * FROM {t}")
    assert [row[4] for row in rows] == [7] * len(rows)
    assert rows[0][1] == {"a": 1, "b": "sb"}
    ids = check(spark, iceberg, f"SELECT id, _row_id, n FROM {t} WHERE n = 7 AND bin = X'00FF' AND id < 9")
    assert len(ids) == 7
    check(spark, iceberg, f"SELECT id, n, l[0].y, m['k'].z FROM {t} WHERE s.b = 'sb'")
    assert spark.sql(f"SELECT * FROM {t} VERSION AS OF {old}").count() == 12
    spark.sql(f"UPSERT INTO {t} VALUES (4, named_struct('a', 40, 'b', 'x'), NULL, NULL, 8, X'01')")
    spark.sql(f"UPDATE {t} SET id = 50 WHERE id = 5")
    changed = check(spark, iceberg, f"SELECT id, s, n, bin FROM {t}")
    assert {row[0]: row[2] for row in changed}[4] == 8
