"""INSERT of a query that gives columns of files as they are, of all rows or by a condition: tasks read the files in
Spark's place, with equal rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from sessions import planned
from sqlext.command import write_operation
from sqlext.spark.query.packed_rows import packed
from sqlext.storage.location import to_local_path
from turns import EVERY

ROWS = 3_000
COLUMNS = """id BIGINT NOT NULL, flag BOOLEAN, whole INT, large BIGINT, single FLOAT, twice DOUBLE, price DECIMAL(7,2),
 cents DECIMAL(18,4), exact DECIMAL(38,10), text STRING, bytes BINARY, day DATE, at TIMESTAMP, local TIMESTAMP_NTZ,
 nothing STRING, `a.b` INT, Upper STRING"""
BY_TASKS, BY_SPARK = "tasks read the files of the query themselves", "tasks get rows from Spark: "
FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)


def _row(rng: random.Random, number: int) -> tuple[Any, ...]:
    def some(value: Any) -> Any:
        return None if rng.random() < 0.2 else value

    at = rng.choice([FIRST, LAST, datetime(1582, 10, 10), datetime(1969, 12, 31, 23, 59, 59, 999_999)])
    return (
        number,
        some(rng.random() < 0.5),
        some(rng.choice([-(2**31), 0, 7, 2**31 - 1])),
        some(rng.randrange(-(2**63), 2**63)),
        some(rng.choice([0.0, -0.0, 1.5, float("inf"), float("nan")])),
        some(rng.choice([rng.random(), float("nan"), -0.0])),
        some(Decimal(rng.randrange(-(10**7) + 1, 10**7)).scaleb(-2)),
        some(Decimal(rng.randrange(-(10**18) + 1, 10**18)).scaleb(-4)),
        some(Decimal(rng.randrange(-(10**37), 10**37)).scaleb(-10)),
        some(rng.choice(["", "often", "aé😀\0"])),
        some(rng.randbytes(rng.randrange(20))),
        some(date(1, 1, 1) + timedelta(rng.randrange(3_600_000))),
        some(at.replace(tzinfo=timezone.utc)),
        some(at),
        None,
        some(number),
        some("U"),
    )


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three Parquet files of Spark's, in row groups of some hundred rows; instants have twelve bytes."""
    rng, folder = random.Random(20261128), tmp_path_factory.mktemp("source") / "all"
    made = spark.createDataFrame([_row(rng, number) for number in range(ROWS)], COLUMNS)
    made.repartition(3).write.option("parquet.block.size", 16_384).parquet(str(folder))
    groups = [pq.read_metadata(file).num_row_groups for file in folder.glob("*.parquet")]
    assert min(groups) > 3
    return folder


@pytest.fixture(autouse=True)
def small_pieces(spark: SparkSession) -> Any:
    """Spark divides each file among several tasks."""
    spark.conf.set("spark.sql.files.maxPartitionBytes", 20_000)
    spark.conf.set("spark.sql.files.openCostInBytes", 1)
    yield
    spark.conf.unset("spark.sql.files.maxPartitionBytes")
    spark.conf.unset("spark.sql.files.openCostInBytes")


def _shown(frame: DataFrame) -> list[str]:
    """The rows as texts, since nan is not equal to itself; instants and days as numbers, of which Python has fewer."""
    columns = [
        {"timestamp": f"unix_micros(`{name}`)", "date": f"unix_date(`{name}`)"}.get(type, f"`{name}`")
        for name, type in frame.dtypes
    ]
    columns = [
        f"CAST(`{name}` AS STRING)" if dict(frame.dtypes)[name] == "timestamp_ntz" else text
        for name, text in zip(frame.columns, columns, strict=True)
    ]
    return sorted(map(repr, frame.selectExpr(*columns).collect()))


class RecordsOfSpark:
    """How many records Spark's own readers read in the jobs of a block."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext._jsc.sc()
        self.count = 0

    def __enter__(self) -> RecordsOfSpark:
        self._before = set(self._jobs())
        return self

    def __exit__(self, *error: object) -> None:
        store = self._context.statusStore()
        for number, job in self._jobs().items():
            if number not in self._before:
                stages = [job.stageIds().apply(place) for place in range(job.stageIds().size())]
                self.count += sum(store.lastStageAttempt(stage).inputRecords() for stage in stages)

    def _jobs(self) -> dict[int, Any]:
        self._context.listenerBus().waitUntilEmpty()
        jobs = self._context.statusStore().jobsList(None)
        return {jobs.apply(place).jobId(): jobs.apply(place) for place in range(jobs.size())}


def _assert_equal_both_ways(
    spark: SparkSession, name: str, query: str, *, by: str = BY_TASKS, again: bool = False
) -> None:
    """`by` is who reads the files unless a query is forced to, in EXPLAIN's words; `again`: a task meets a file that
    only Spark reads. What Spark reads in any case is compared with the query alone."""
    found = {}
    ways = ("tasks",) if by.startswith(BY_SPARK) else ("tasks", "tasks,source-by-query")
    for force in ways:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        spark.sql(f"CREATE TABLE {name} AS SELECT * FROM ({query}) LIMIT 0")
        with planned(spark, force=force):
            explained = str(spark.sql(f"EXPLAIN INSERT INTO {name} {query}").head()[0])
            assert (by if force == "tasks" else BY_SPARK) in explained, explained
            with (
                patch.object(write_operation, "delete_files", wraps=write_operation.delete_files) as discarding,
                RecordsOfSpark(spark) as records,
            ):
                spark.sql(f"INSERT INTO {name} {query}")
            assert discarding.called == (again and force == "tasks")
            if by.startswith(BY_TASKS) and force == "tasks" and not again:
                assert records.count == 0, "the tasks, not Spark, read the files"
        found[force] = _shown(spark.table(name))
    expected = _shown(spark.sql(query))
    assert found == dict.fromkeys(ways, expected)
    assert expected


@pytest.mark.turns(EVERY)
@pytest.mark.parametrize(
    "columns",
    ["*", "Upper AS u, `a.b`, id, text AS b, text AS c, at", "exact AS id, local"],
    ids=["all", "moved", "two"],
)
def test_files_of_spark(spark: SparkSession, files: Path, table_name: str, columns: str) -> None:
    _assert_equal_both_ways(spark, table_name, f"SELECT {columns} FROM parquet.`{files}`")


CONDITIONS = [
    "id > 700",
    "whole >= 0",
    "NOT (whole < 7)",
    "whole <> 7",
    "large BETWEEN -4000000000000000000 AND 4000000000000000000 OR large IS NULL",
    "single > 1",
    "single <= 1.5F AND single <> 0",
    "NOT single > 1",
    "single IN (0.0F, 1.5F)",
    "single NOT IN (0.0F, 1.5F)",
    "twice = double('nan') OR twice < 0.5D",
    "NOT (twice <= 0.25D OR twice IS NULL)",
    "twice >= -0.0D",
    "price > 10.55",
    "price IN (1.00, -5.5) OR cents < 0 OR exact > 1000.5",
    "text = 'often'",
    "text <> 'often'",
    "text >= 'aé'",
    "text LIKE 'aé%'",
    "text NOT LIKE 'of%' AND text IS NOT NULL",
    "text IN ('', 'often', 'other') AND flag",
    "NOT flag",
    "bytes < X'80' OR bytes = X''",
    "day >= DATE'1800-05-05' AND day < DATE'7000-01-01'",
    "at < TIMESTAMP'1970-01-01 00:00:00Z'",
    "local IN (TIMESTAMP_NTZ'1582-10-10 00:00:00', TIMESTAMP_NTZ'1969-12-31 23:59:59.999999')",
    "nothing IS NULL AND `a.b` > 100",
    "nothing <=> text",
    "`a.b` <=> 5 OR id >= 100 AND NOT (Upper = 'U' AND id < 1000)",
    "Upper = 'U'",
]


@pytest.mark.turns(6)
@pytest.mark.parametrize("columns", ["*", "id, text", "text AS b, at"], ids=["all", "two", "others"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(spark: SparkSession, files: Path, table_name: str, condition: str, columns: str) -> None:
    """Whoever reads, the rows are Spark's. Two columns of one row are not compared without a cast by Spark."""
    query = f"SELECT {columns} FROM parquet.`{files}` WHERE {condition}"
    by = BY_TASKS if "<=> text" not in condition else f"{BY_SPARK}the query has a condition that only Spark evaluates"
    _assert_equal_both_ways(spark, table_name, query, by=by)


@pytest.mark.turns(EVERY)
@pytest.mark.parametrize("condition", ["id = 77", "at < TIMESTAMP'0001-01-01 00:00:00Z'", "day IN (DATE'0001-01-01')"])
def test_spark_passes_over_row_groups(spark: SparkSession, table_name: str, tmp_path: Path, condition: str) -> None:
    """Where Spark reads the files of the query, it does so by the bounds of their row groups, as in a query alone."""
    days = [date(1, 1, 1) if number < 100 else date(2026, 1, 1) for number in range(3000)]
    instants = [datetime(2026, 1, 1, tzinfo=timezone.utc)] * 3000
    _written(tmp_path / "a.parquet", id=pa.array(range(3000)), day=pa.array(days), at=pa.array(instants))
    query = f"SELECT * FROM parquet.`{tmp_path}` WHERE {condition}"
    spark.sql(f"CREATE TABLE {table_name} AS SELECT * FROM ({query}) LIMIT 0")
    with planned(spark, force="tasks,source-by-query"), RecordsOfSpark(spark) as records:
        spark.sql(f"INSERT INTO {table_name} {query}")
    assert records.count <= 100
    assert _shown(spark.table(table_name)) == _shown(spark.sql(query))


def test_the_plan_shows_who_reads(spark: SparkSession, files: Path) -> None:
    plan = packed(spark.read.parquet(str(files)), by_task=True)._jdf.queryExecution().executedPlan().toString()
    assert "Leave Files to Tasks" in plan


def test_other_queries_are_read_by_spark(spark: SparkSession, files: Path, table_name: str, tmp_path: Path) -> None:
    source = f"parquet.`{files}`"
    spark.sql(f"SELECT id, array(text) AS texts FROM {source}").write.parquet(str(tmp_path / "nested"))
    spark.sql(f"SELECT id, text FROM {source}").write.orc(str(tmp_path / "orc"))
    spark.sql(f"SELECT id, id % 3 AS part FROM {source}").write.partitionBy("part").parquet(str(tmp_path / "parts"))
    computed = "the query does more than read columns of files"
    evaluated = "the query has a condition that only Spark evaluates"
    moved = "rows are moved between tasks or sorted first, or the query has a subquery"
    parts = f"parquet.`{tmp_path}/parts`"
    for query, why in [
        (f"SELECT id + 1 AS id FROM {source}", computed),
        (f"SELECT id, text FROM {source} WHERE id % 7 = 3", evaluated),
        (
            f"SELECT id, text FROM {source} WHERE id + rand() >= 0",
            "the query has a condition that only Spark evaluates",
        ),
        (f"SELECT id + 1 AS id FROM {source} WHERE id > 7", computed),
        (f"SELECT id FROM {source} WHERE id = 7", f"of {files}"),
        ("SELECT id FROM range(100) WHERE id > 7", "the query reads no files"),
        (f"SELECT id FROM {source} UNION ALL SELECT id FROM {source}", computed),
        (f"SELECT DISTINCT id FROM {source}", moved),
        (f"SELECT id FROM {parts} WHERE part = (SELECT min(part) FROM {parts})", moved),
        ("SELECT id FROM range(100)", "the query reads no files"),
        (f"SELECT id, _metadata.file_name FROM {source}", computed),
        (f"SELECT * FROM {parts}", computed),
        (f"SELECT * FROM parquet.`{tmp_path}/nested`", "the query reads the column texts of type ARRAY<STRING>"),
        (f"SELECT * FROM orc.`{tmp_path}/orc`", "the query reads files that are not Parquet"),
    ]:
        _assert_equal_both_ways(spark, table_name, query, by=BY_SPARK + why)
    _assert_equal_both_ways(spark, table_name, f"SELECT id FROM {parts}")
    _assert_equal_both_ways(spark, table_name, f"SELECT id FROM {parts} WHERE part = 1")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        subquery = f"SELECT id FROM {parts} WHERE part = (SELECT min(part) FROM {parts})"
        _assert_equal_both_ways(spark, table_name, subquery, by=f"{BY_SPARK}a subquery tells which files are read")
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("spark.sql.files.ignoreCorruptFiles", "true", "the query may pass over files"),
        ("spark.sql.files.ignoreMissingFiles", "true", "the query may pass over files"),
        ("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY", "the session changes times as it reads them"),
        ("spark.sql.parquet.int96RebaseModeInRead", "LEGACY", "the session changes times as it reads them"),
        ("spark.sql.parquet.int96TimestampConversion", "true", "the session changes times as it reads them"),
        ("spark.sql.parquet.fieldId.read.enabled", "true", "the session finds columns by field ids"),
    ],
)
def test_settings_that_only_spark_heeds(
    spark: SparkSession, files: Path, table_name: str, setting: str, value: str, why: str
) -> None:
    before = spark.conf.get(setting)
    spark.conf.set(setting, value)
    try:
        _assert_equal_both_ways(spark, table_name, f"SELECT * FROM parquet.`{files}`", by=BY_SPARK + why)
    finally:
        spark.conf.set(setting, str(before))


def _written(path: Path, **columns: pa.Array) -> None:
    pq.write_table(pa.table(columns), path, row_group_size=100)


INSTANTS = [datetime(2026, 11, 28, 1, 2, 3, 4), None]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (pa.array(["a", None], pa.large_string()), None),
        (pa.array([b"a", None], pa.large_binary()), None),
        (pa.array(INSTANTS, pa.timestamp("us", "UTC")), None),
        (pa.array(INSTANTS, pa.timestamp("us")), None),
        (pa.array([1.5, None], pa.float32()), None),
        (pa.array(INSTANTS, pa.timestamp("us", "Europe/Berlin")), "timestamp[us, tz=Europe/Berlin]"),
        (pa.array(INSTANTS, pa.timestamp("ms", "UTC")), "timestamp[ms, tz=UTC]"),
        (pa.array([1, None], pa.uint32()), "uint32"),
        (pa.array(["a", None]).dictionary_encode(), None),
    ],
    ids=[
        "texts",
        "bytes",
        "instants",
        "local",
        "floats",
        "of a zone",
        "milliseconds",
        "unsigned",
        "dictionary",
    ],
)
def test_files_of_arrow(
    spark: SparkSession, table_name: str, tmp_path: Path, values: pa.Array, why: str | None
) -> None:
    _written(tmp_path / "a.parquet", id=pa.array([1, 2]), v=values)
    by = BY_TASKS if why is None else f"{BY_SPARK}{tmp_path}/a.parquet has the column v as {why}"
    _assert_equal_both_ways(spark, table_name, f"SELECT * FROM parquet.`{tmp_path}`", by=by)


def test_texts_that_were_codes_beside_texts(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """Files of pandas' categories, which differ from one another, and of texts: one task writes them together."""
    for number, words in enumerate((100, 90, 3)):
        texts = pa.array([f"{number}-{one}" for one in range(words)] * 10)
        if number < 2:
            texts = texts.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string(), ordered=number == 1))
        pq.write_table(pa.table({"v": texts}), tmp_path / f"{number}.parquet")
    spark.conf.set("spark.sql.files.maxPartitionBytes", 10_000_000)
    _assert_equal_both_ways(spark, table_name, f"SELECT * FROM parquet.`{tmp_path}`")


def _parquet_files(spark: SparkSession, name: str) -> list[Path]:
    described = {row.col_name: row.data_type for row in spark.sql(f"DESCRIBE EXTENDED {name}").collect()}
    location = described["Location"]
    return sorted(Path(to_local_path(location)).rglob("*.parquet"))


@pytest.mark.turns(EVERY)
@pytest.mark.parametrize(
    "second",
    [
        {"v": pa.array([3, 4], pa.int32())},
        {"V": pa.array([3, 4])},
        {"other": pa.array([3, 4])},
    ],
    ids=["another type", "another case", "absent"],
)
def test_a_later_file_that_only_spark_reads(
    spark: SparkSession, table_name: str, tmp_path: Path, second: dict[str, pa.Array]
) -> None:
    """The first file is one that tasks read. The files that they have written are removed."""
    _written(tmp_path / "a.parquet", id=pa.array(range(1000)), v=pa.array(range(1000)))
    _written(tmp_path / "b.parquet", id=pa.array([1, 2]), **second)
    spark.read.schema("id BIGINT, v BIGINT").parquet(str(tmp_path)).createOrReplaceTempView("later_file")
    _assert_equal_both_ways(spark, table_name, "SELECT * FROM later_file", again=True)
    spark.sql(f"DROP TABLE {table_name}")
    with planned(spark, force="tasks"):
        spark.sql(f"CREATE TABLE {table_name} AS SELECT * FROM later_file")
    stored = {Path(to_local_path(row.file_path)) for row in spark.table(f"{table_name}.files").collect()}
    assert stored == set(_parquet_files(spark, table_name))


def test_a_changed_bit_is_sparks_error(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """Hadoop has written checksums beside the file, and compares them."""
    spark.range(0, 10_000, 1, 1).write.option("compression", "uncompressed").parquet(str(tmp_path / "changed"))
    (file,) = (tmp_path / "changed").glob("*.parquet")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT)")
    with planned(spark, force="tasks"), pytest.raises(Exception, match=r"(?i)checksum"):
        spark.sql(f"INSERT INTO {table_name} SELECT * FROM parquet.`{tmp_path}/changed`")
    assert spark.table(table_name).count() == 0


def test_a_damaged_file_is_sparks_error(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    _written(tmp_path / "a.parquet", id=pa.array(range(1000)))
    frame = spark.read.parquet(str(tmp_path))
    data = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(data[:100] + bytes(400) + data[500:])
    frame.createOrReplaceTempView("damaged_file")
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT)")
    with planned(spark, force="tasks"), pytest.raises(Exception, match=r"a\.parquet"):
        spark.sql(f"INSERT INTO {table_name} SELECT * FROM damaged_file")
    assert spark.table(table_name).count() == 0
    assert _parquet_files(spark, table_name) == []


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("deletes", ["positions", "keys", "copies"])
def test_tables(spark: SparkSession, files: Path, table_name: str, version: int, deletes: str) -> None:
    """With columns that were renamed, widened, dropped, added and moved after the first files."""
    source, modes = f"{table_name}_source", {"positions": "merge-on-read", "copies": "copy-on-write"}
    properties = [f"'format-version'='{version}'", f"'write.delete.mode'='{modes.get(deletes, 'merge-on-read')}'"]
    properties += ["'write.upsert.mode'='equality'", "'write.parquet.row-group-size-bytes'='16384'"]
    spark.sql(f"DROP TABLE IF EXISTS {source}")
    spark.sql(f"CREATE TABLE {source} ({COLUMNS}, PRIMARY KEY (id)) TBLPROPERTIES ({', '.join(properties)})")
    with planned(spark, force="tasks"):
        spark.sql(f"INSERT INTO {source} SELECT * FROM parquet.`{files}` WHERE id < 2000")
    for change in (
        "RENAME COLUMN text TO words",
        "ALTER COLUMN whole TYPE BIGINT",
        "ALTER COLUMN price TYPE DECIMAL(9,2)",
        "ALTER COLUMN single TYPE DOUBLE",
        "DROP COLUMN flag",
        "ADD COLUMN text INT",
        "ALTER COLUMN day FIRST",
    ):
        spark.sql(f"ALTER TABLE {source} {change}")
    spark.sql(f"INSERT INTO {source} (id, words, text) SELECT id, text, 5 FROM parquet.`{files}` WHERE id >= 2000")
    if deletes == "keys":
        spark.sql(f"UPSERT INTO {source} (id, words) VALUES (3, 'new'), (4, 'new'), (2500, 'new')")
    else:
        spark.sql(f"DELETE FROM {source} WHERE id % 7 = 3 OR id BETWEEN 100 AND 700 OR id BETWEEN 2100 AND 2300")
    _assert_equal_both_ways(spark, table_name, f"SELECT * FROM {source}")
    _assert_equal_both_ways(spark, table_name, f"SELECT text, words AS w, id FROM {source}")
    condition = "id < 2600 AND (words <> 'often' OR text = 5 OR whole > 7 AND price < 5000000)"
    _assert_equal_both_ways(spark, table_name, f"SELECT * FROM {source} WHERE {condition}")
    _assert_equal_both_ways(spark, table_name, f"SELECT single, words AS w FROM {source} WHERE text IS NULL")
    spark.sql(f"DROP TABLE {source}")


def test_columns_of_tables_that_spark_reads(spark: SparkSession, table_name: str) -> None:
    source = f"{table_name}_source"
    spark.sql(f"DROP TABLE IF EXISTS {source}")
    spark.sql(f"CREATE TABLE {source} (id BIGINT, tags ARRAY<STRING>) TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {source} VALUES (1, NULL), (2, array('x'))")
    spark.sql(f"ALTER TABLE {source} ADD COLUMN later STRING DEFAULT 'then'")
    for columns, why in (
        ("id, later", "the query reads a column with an initial default"),
        ("id, tags", "the query reads the column tags of type ARRAY<STRING>"),
        ("id, _file AS f", "the query reads a column that is not stored, or as another type"),
        ("id, _row_id AS r", "the query does more than read columns of files"),
    ):
        query = f"SELECT {columns} FROM {source}"
        _assert_equal_both_ways(spark, table_name, query, by=BY_SPARK + why)
    _assert_equal_both_ways(spark, table_name, f"SELECT id FROM {source}")
    spark.sql(f"DROP TABLE {source}")


@pytest.mark.parametrize(
    "write",
    [
        lambda spark, name, frame: spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM written_rows"),
        lambda spark, name, frame: spark.sql(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM written_rows"),
        lambda spark, name, frame: frame.writeTo(name).append(),
        lambda spark, name, frame: frame.write.mode("overwrite").insertInto(name),
    ],
    ids=["overwrite", "CTAS", "writeTo", "insertInto"],
)
def test_other_writes(
    spark: SparkSession, files: Path, table_name: str, write: Callable[[SparkSession, str, DataFrame], None]
) -> None:
    frame = spark.read.parquet(str(files))
    frame.createOrReplaceTempView("written_rows")
    spark.sql(f"CREATE TABLE {table_name} AS SELECT * FROM written_rows LIMIT 0")
    with planned(spark, force="tasks"):
        write(spark, table_name, frame)
    assert _shown(spark.table(table_name)) == _shown(frame)


def test_a_null_in_a_required_column_is_refused(spark: SparkSession, files: Path, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (text STRING NOT NULL)")
    messages: list[str] = []
    for force in ("tasks", "tasks,source-by-query"):
        with planned(spark, force=force), pytest.raises(Exception, match="NULL_IN_REQUIRED_COLUMN") as raised:
            spark.sql(f"INSERT INTO {table_name} SELECT text FROM parquet.`{files}`")
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def _ids(frame: DataFrame) -> Sequence[int]:
    return sorted(row.id for row in frame.collect())


def test_a_table_is_inserted_into_itself(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} AS SELECT id FROM range(1000)")
    with planned(spark, force="tasks"):
        spark.sql(f"INSERT INTO {table_name} SELECT * FROM {table_name}")
        assert _ids(spark.table(table_name)) == sorted([*range(1000)] * 2)
        spark.sql(f"INSERT OVERWRITE {table_name} SELECT * FROM {table_name}")
    assert _ids(spark.table(table_name)) == sorted([*range(1000)] * 2)
