"""Files with Bloom filters of all columns that can have one: no value is missed, by Spark or by Iceberg's readers."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from judges.iceberg import IcebergJudge

_TYPES = {
    "i": "INT",
    "l": "BIGINT",
    "small": "DECIMAL(7, 2)",
    "middle": "DECIMAL(15, 3)",
    "large": "DECIMAL(30, 5)",
    "s": "STRING",
    "b": "BINARY",
    "d": "DATE",
    "t": "TIMESTAMP",
    "n": "TIMESTAMP_NTZ",
    "f": "FLOAT",
    "g": "DOUBLE",
    "x": "BOOLEAN",
}


def _rows(first: int, last: int) -> str:
    """Numbers below and above zero, as values of all types; the zeros of floats are of both signs."""
    values = {
        "i": "CAST(id AS INT)",
        "l": "id * 3000000000",
        "small": "CAST(id / 4 AS DECIMAL(7, 2))",
        "middle": "CAST(id * 1000001 / 8 AS DECIMAL(15, 3))",
        "large": "CAST(id AS DECIMAL(30, 5)) * 100000000000000000000",
        "s": "concat('ü', id)",
        "b": "CAST(concat('b', id) AS BINARY)",
        "d": "date_add(DATE '1970-01-01', CAST(id * 97 AS INT))",
        "t": "timestamp_micros(id * 86400000001)",
        "n": "CAST(timestamp_micros(id * 3600000007) AS TIMESTAMP_NTZ)",
        "f": "CASE WHEN id = 0 THEN CAST('-0.0' AS FLOAT) ELSE CAST(id / 8 AS FLOAT) END",
        "g": "CASE WHEN id = 0 THEN CAST('-0.0' AS DOUBLE) ELSE id / 3D END",
        "x": "id % 2 = 0",
    }
    return f"SELECT {', '.join(f'{text} AS {name}' for name, text in values.items())} FROM range({first}, {last})"


def test_no_value_is_missed(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    columns = ", ".join(f"{name} {type}" for name, type in _TYPES.items())
    said = ", ".join(f"'write.parquet.bloom-filter-enabled.column.{name}'='true'" for name in _TYPES)
    spark.sql(f"CREATE TABLE {table_name} ({columns}) TBLPROPERTIES ({said})")
    spark.sql(f"INSERT INTO {table_name} {_rows(-40, 41)}")
    # Old files are read under wider types from here on.
    for column, wider in (("i", "BIGINT"), ("small", "DECIMAL(20, 2)")):
        spark.sql(f"ALTER TABLE {table_name} ALTER COLUMN {column} TYPE {wider}")
    spark.sql(f"INSERT INTO {table_name} {_rows(100, 120)}")
    for chosen in (-40, 0, 33, 100, 119):
        texts = spark.sql(
            f"SELECT {', '.join(f'CAST({name} AS STRING)' for name in _TYPES)} FROM ({_rows(chosen, chosen + 1)})"
        )
        values = dict(zip(_TYPES, texts.first() or (), strict=True))
        counts = []
        for name, type in _TYPES.items():
            text = "0.0" if name in ("f", "g") and chosen == 0 else values[name]
            value = f"CAST('{text}' AS {'BIGINT' if name == 'i' else type})"
            counts.append(f"(SELECT count(*) FROM {table_name} WHERE {name} = {value}) AS {name}")
        question = f"SELECT {', '.join(counts)}"
        expected = [1] * (len(_TYPES) - 1) + [51 if values["x"] == "true" else 50]
        assert list(spark.sql(question).first() or ()) == expected, chosen
        assert iceberg.sql(question) == [expected], chosen


def test_a_group_of_rows_without_the_value_is_not_read(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, v STRING) TBLPROPERTIES"
        " ('write.parquet.bloom-filter-enabled.column.id'='true')"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT id * 2, 'v' FROM range(5000)")
    session = spark.newSession()
    # The driver would look the value up, without a scan of Spark.
    session.conf.set("sqlext.plan.looked-up-rows", "0")
    for value, read in ((4000, 5000), (4001, 0)):
        frame = session.sql(f"SELECT v FROM {table_name} WHERE id = {value}")
        assert frame.count() == (1 if read else 0)
        assert _rows_read(frame) == read


def _rows_read(frame: DataFrame) -> int:
    """What the scan of the query's own run read."""
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    scans = plan.collectLeaves()
    (scan,) = (scans.apply(number) for number in range(scans.size()))
    return int(scan.metrics().apply("numOutputRows").value())
