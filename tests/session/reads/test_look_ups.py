"""Rows of a scan by equality, which the driver reads without a job: those that tasks read, of every kind of table."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest
from pyspark.errors import ArithmeticException, PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.functions import udf

from judges.canonical import canonical_rows
from sessions import compiled, planned
from sqlext.spark.scan import rows_of_keys

WHOLE_BYTES = rows_of_keys._WHOLE_BYTES
COLUMNS = """
id BIGINT, name STRING, amount DECIMAL(20, 2), point STRUCT<x: BIGINT, inner: STRUCT<y: STRING>>, items ARRAY<BIGINT>,
flags MAP<STRING, BOOLEAN>, day DATE, flag BOOLEAN, ratio FLOAT, root DOUBLE, hash BINARY, at TIMESTAMP
"""
ROWS = """
SELECT id, IF(id % 5 = 0, NULL, concat('name ', id)) AS name, CAST(id AS DECIMAL(20, 2)) AS amount,
  named_struct('x', id, 'inner', named_struct('y', CAST(id AS STRING))) AS point,
  IF(id % 3 = 0, NULL, array(id, NULL, id + 1)) AS items, map(CAST(id AS STRING), id % 2 = 0) AS flags,
  DATE'2024-01-01' + CAST(id % 400 AS INT) AS day, IF(id % 4 = 0, NULL, id % 3 = 0) AS flag,
  CAST(id / 7 AS FLOAT) AS ratio, IF(id % 9 = 0, NULL, IF(id % 11 = 0, double('NaN'), sqrt(id))) AS root,
  unhex(sha2(CAST(id AS STRING), 256)) AS hash, timestamp_millis(id * 86400123) AS at
FROM range({rows})
"""
CONDITIONS = (
    "id = 77",
    "id = 77 AND name = 'name 77' AND at > TIMESTAMP'1970-01-02 00:00:00'",
    "id IN (3, 5, 77, 78, 900000, -1)",
    "id = 77.0 OR id = 78",
    "name = 'name 1201'",
    "day = DATE'2024-01-08' AND id < 1000",
    "amount = 1201 AND ratio > 3",
    "root = double('NaN') AND id = 11",
    "id <=> 78",
    "flag = true AND id IN (75, 76, 77, 78, 79, 80, 81)",
    "hash = unhex(sha2('77', 256))",
    "id = 77 AND rand() < 2",
    "id = (SELECT 77)",
    "id = -5",
    "id = NULL",
)
SELECTS = (
    "SELECT * FROM {table} WHERE {where}",
    "SELECT upper(name), point.inner.y, flags, id + 1 FROM {table} WHERE {where}",
    "SELECT id, transform(items, item -> item + id), exists(items, item -> item = 78) FROM {table} WHERE {where}",
    "SELECT count(*), max(at), sum(root) FROM {table} WHERE {where}",
    "SELECT * EXCEPT (flags), _pos, _spec_id, _file FROM {table} WHERE {where}",
    "SELECT name, _pos, id, day, _file, extra FROM {table} WHERE {where}",
    "SELECT a.*, b.name FROM (SELECT * FROM {table} WHERE {where}) a JOIN {table} b ON a.id = b.id",
    "SELECT b.id, a.items FROM {table} b JOIN (SELECT id, filter(items, item -> item > 5) AS items FROM {table}"
    " WHERE {where}) a ON a.id = b.id",
)
SHAPES = {
    "v2": ("", {"format-version": "2"}),
    "v3": ("", {"format-version": "3"}),
    "equality": ("", {"format-version": "2", "write.upsert.mode": "equality"}),
    "buckets": ("PARTITIONED BY (bucket(3, id))", {"format-version": "3"}),
}


def _jobs(spark: SparkSession, work: Callable[[], object]) -> int:
    """How many jobs the work has begun."""
    context, group = spark.sparkContext, str(uuid.uuid4())
    context.setJobGroup(group, "look-ups")
    try:
        work()
        return len(context.statusTracker().getJobIdsForGroup(group))
    finally:
        for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(name, None)  # type: ignore[arg-type]


def _collect(spark: SparkSession, query: str, arguments: dict[str, object], rows: list[Row]) -> None:
    rows.extend(spark.sql(query, args=arguments).collect())


def _changed_table(spark: SparkSession, table: str, partitioned: str, properties: dict[str, str]) -> None:
    """With rows that were deleted, updated and upserted, and a column that older files lack."""
    set_ = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}, PRIMARY KEY (id)) {partitioned} TBLPROPERTIES ({set_})")
    spark.sql(f"INSERT INTO {table} {ROWS.format(rows=2000)}")
    spark.sql(f"DELETE FROM {table} WHERE id % 13 = 0")
    spark.sql(f"UPDATE {table} SET name = 'changed', amount = amount + 1 WHERE id IN (75, 77, 79)")
    spark.sql(f"UPSERT INTO {table} ({', '.join(spark.table(table).columns)}) SELECT * FROM ({ROWS.format(rows=6)})")
    default = "DEFAULT 'none'" if properties["format-version"] == "3" else ""
    spark.sql(f"ALTER TABLE {table} ADD COLUMN extra STRING {default}")
    if default:
        spark.sql(f"UPSERT INTO {table} SELECT *, 'new' FROM ({ROWS.format(rows=3)})")


@pytest.mark.parametrize("whole", [WHOLE_BYTES, 0], ids=["small files", "large files"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_those_that_tasks_read(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, shape: str, whole: int
) -> None:
    monkeypatch.setattr(rows_of_keys, "_WHOLE_BYTES", whole)
    _changed_table(spark, table_name, *SHAPES[shape])
    for where in CONDITIONS:
        for select in SELECTS:
            query = select.format(table=table_name, where=where)
            found = canonical_rows(spark.sql(query))
            with planned(spark, looked_up_rows=0):
                assert found == canonical_rows(spark.sql(query)), query


def test_a_look_up_begins_no_job(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS}, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {table_name} {ROWS.format(rows=2000)}")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 5")
    query = f"SELECT * FROM {table_name} WHERE id IN (5, 77)"
    rows: list[object] = []
    with compiled(spark):
        assert _jobs(spark, lambda: rows.extend(spark.sql(query).collect())) == 0
    assert len(rows) == 1
    assert _jobs(spark, lambda: spark.sql(f"{query} LIMIT 1").collect()) == 0
    assert _jobs(spark, lambda: spark.sql(query).toLocalIterator()) == 0
    with planned(spark, looked_up_rows=0):
        assert _jobs(spark, lambda: spark.sql(query).collect()) == 1
    assert _jobs(spark, lambda: spark.sql(f"SELECT * FROM {table_name} WHERE id > 1990").collect()) == 1


def test_keys_without_an_order_begin_no_job(spark: SparkSession, table_name: str) -> None:
    """Each of them may be in any page of any file, so that a scan would decode all."""
    columns = "sha2(CAST(id AS STRING), 256) AS id, id AS n, concat('comment ', id * 7919 % 100000) AS s"
    spark.sql(f"CREATE TABLE {table_name} (id STRING, n BIGINT, s STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} SELECT {columns} FROM range(0, 300000, 1, 2)")
    spark.sql(f"DELETE FROM {table_name} WHERE n = 7")
    for count in (1, 300, 4096):
        sought = f"SELECT sha2(CAST(id AS STRING), 256) FROM range(0, {count * 70}, 70) UNION SELECT sha2('7', 256)"
        keys = ", ".join(
            f"'{row[0]}'" for row in spark.sql(f"SELECT * FROM ({sought}) ORDER BY 1 LIMIT {count}").collect()
        )
        query = f"SELECT n, s FROM {table_name} WHERE id IN ({keys}) AND n % 3 < 2"
        rows: list[Row] = []
        assert _jobs(spark, partial(_collect, spark, query, {}, rows)) == 0
        with planned(spark, looked_up_rows=0):
            assert sorted(rows) == sorted(spark.sql(query).collect())
    for change in (
        f"UPDATE {table_name} SET s = 'changed' WHERE id = sha2('8', 256)",
        f"DELETE FROM {table_name} WHERE id IN (sha2('9', 256), sha2('10', 256)) AND n = 9",
    ):
        assert _jobs(spark, partial(_collect, spark, change, {}, [])) == 0
    left = spark.sql(f"SELECT n, s FROM {table_name} WHERE n BETWEEN 6 AND 10 ORDER BY n").collect()
    assert left == [(6, "comment 47514"), (8, "changed"), (10, "comment 79190")]
    with planned(spark, looked_up_key_bytes=1_000_000):
        assert _jobs(spark, lambda: spark.sql(f"SELECT s FROM {table_name} WHERE id = 'none'").collect()) == 0
        assert _jobs(spark, lambda: spark.sql(query).collect()) >= 1


def test_rows_of_one_key_are_all_found(spark: SparkSession, table_name: str) -> None:
    """A key is not enforced unless the table says so."""
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write-only'='true')")
    spark.sql(f"INSERT INTO {table_name} SELECT id % 6000, concat('s', id) FROM range(0, 12000, 1, 1)")
    with planned(spark, looked_up_rows=1):
        some = f"SELECT s FROM {table_name} WHERE id IN (7, 8)"
        assert sorted(row.s for row in spark.sql(some).collect()) == ["s6007", "s6008", "s7", "s8"]
        assert _jobs(spark, lambda: spark.sql(some).collect()) == 0
        # More rows than the driver keeps, of as many keys as it looks up.
        many = f"SELECT count(DISTINCT s) FROM {table_name} WHERE id IN ({', '.join(map(str, range(4000)))})"
        assert spark.sql(many).collect()[0][0] == 8000
        assert _jobs(spark, lambda: spark.sql(many).collect()) > 0


@pytest.mark.parametrize("whole", [WHOLE_BYTES, 0], ids=["small files", "large files"])
@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("INT", "CAST(id AS INT)"),
        ("STRING", "concat('ä', id)"),
        ("DECIMAL(38, 10)", "CAST(id AS DECIMAL(38, 10)) / 8"),
        ("DECIMAL(12, 2)", "CAST(id AS DECIMAL(12, 2)) / 4"),
        ("BINARY", "unhex(md5(CAST(id AS STRING)))"),
        ("DATE", "DATE'1969-12-01' + CAST(id AS INT)"),
        ("TIMESTAMP", "timestamp_micros(id * 86399999999 - 5000000000)"),
        ("TIMESTAMP_NTZ", "CAST(timestamp_micros(id * 86399999999 - 5000000000) AS TIMESTAMP_NTZ)"),
        ("BOOLEAN", "id % 2 = 0"),
    ],
)
def test_each_key_is_found(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, type: str, value: str, whole: int
) -> None:
    monkeypatch.setattr(rows_of_keys, "_WHOLE_BYTES", whole)
    spark.sql(f"CREATE TABLE {table_name} (k {type}, n BIGINT, s STRING, PRIMARY KEY (n, k))")
    spark.sql(f"INSERT INTO {table_name} SELECT {value}, id % 7, concat('s', id) FROM range(0, 3000, 1, 1)")
    keys = spark.sql(f"SELECT DISTINCT k FROM {table_name} ORDER BY k LIMIT 40").collect()
    literals = ", ".join(f"CAST(:k{number} AS {type})" for number in range(len(keys)))
    given = {f"k{number}": row.k for number, row in enumerate(keys)}
    for where in (f"k IN ({literals}) AND n IN (1, 2, 3, 14, 4)", f"n = 3 AND k IN ({literals}) AND s <> 's3'"):
        query = f"SELECT * FROM {table_name} WHERE {where}"
        with planned(spark, looked_up_rows=1):
            found: list[Row] = []
            assert _jobs(spark, partial(_collect, spark, query, given, found)) == 0
        with planned(spark, looked_up_rows=0):
            expected = spark.sql(query, args=given).collect()
        assert expected
        assert sorted(found) == sorted(expected)


def test_changes_by_key_begin_no_job(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, s STRING, n INT, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} SELECT id, concat('s', id), CAST(id AS INT) FROM range(2000)")

    def run(statement: str) -> None:
        spark.sql(statement.format(table=table_name)).collect()

    for statement in (
        "UPDATE {table} SET s = upper(s), n = n + 1 WHERE id = 7",
        "DELETE FROM {table} WHERE id IN (5, 6)",
        "UPDATE {table} SET n = 0 WHERE id = 5",
    ):
        assert _jobs(spark, lambda statement=statement: run(statement)) == 0, statement
    source = "(SELECT 8L AS id, 'eight' AS s)"
    merge = f"MERGE INTO {table_name} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s"
    assert _jobs(spark, lambda: run(merge)) == 0
    assert _jobs(spark, lambda: run(f"{merge} WHEN NOT MATCHED THEN INSERT (id, s) VALUES (id, s)")) == 0
    rows = canonical_rows(spark.sql(f"SELECT * FROM {table_name} WHERE id BETWEEN 4 AND 9"))
    assert rows == [[4, "s4", 4], [7, "S7", 8], [8, "eight", 8], [9, "s9", 9]]


FEW = "(VALUES (3L, 'new'), (5L, 'new'), (NULL, 'none'), (900L, 'new'), (-7L, NULL))"
MERGE = f"MERGE INTO {{table}} t USING {FEW} AS s (id, s)"
TWICE = "MERGE INTO {table} t USING (VALUES (5L, 1), (5L, 2)) AS s (id, n) ON t.id = s.id WHEN MATCHED"
JOINED = (
    f"{MERGE} ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s",
    f"{MERGE} ON t.id = s.id AND t.n % 2 = 1 AND length(t.s) < length(s.s) + t.n"
    " WHEN MATCHED AND t.n > 3 THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + 100",
    f"{MERGE} ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s, n = -t.n"
    " WHEN NOT MATCHED AND s.id IS NOT NULL THEN INSERT (id, s) VALUES (s.id, s.s)",
    f"{MERGE} ON t.id = s.id WHEN NOT MATCHED AND s.id > 0 THEN INSERT (id, n) VALUES (s.id, 1)",
    "MERGE INTO {table} t USING (SELECT 5L AS id, 'one' AS s) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s"
    " WHEN NOT MATCHED THEN INSERT (id, s) VALUES (id, s)",
    "MERGE INTO {table} t USING (SELECT 9000L AS id, 'one' AS s) s ON t.id = s.id AND t.n < 900"
    " WHEN MATCHED THEN UPDATE SET s = s.s WHEN NOT MATCHED THEN INSERT (id, s) VALUES (id, s)",
    f"{TWICE} AND s.n = 2 THEN DELETE",
    f"{TWICE} THEN UPDATE SET n = s.n",
    "INSERT INTO {table} (id, s) VALUES (3, 'x'), (77, 'x'), (3000, 'x') ON CONFLICT DO NOTHING",
    "INSERT INTO {table} AS t (id, s) VALUES (3, 'x'), (77, 'x'), (3000, 'x')"
    " ON CONFLICT (id) DO UPDATE SET s = concat(t.s, excluded.s), n = coalesce(t.n, 0) + 1 WHERE t.n % 2 = 1",
    "INSERT INTO {table} (id, s) VALUES (3, 'x'), (3, 'y') ON CONFLICT (id) DO UPDATE SET s = excluded.s",
    "DELETE FROM {table} WHERE id IN (SELECT * FROM VALUES (3L), (4L), (NULL))",
    "UPDATE {table} SET n = 0 WHERE id = 5 OR EXISTS (SELECT 1 FROM VALUES (6L) AS v (k) WHERE k = id)",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_joined_by_the_driver_are_those_that_tasks_join(spark: SparkSession, table_name: str, shape: str) -> None:
    partition, properties = SHAPES[shape]
    told = ", ".join(f"'{name}' = '{value}'" for name, value in {**properties, "write-only": "true"}.items())
    columns = "id BIGINT, s STRING, n INT, PRIMARY KEY (id)"
    rows = "SELECT id, IF(id % 3 = 0, NULL, concat('s', id)), CAST(id AS INT) FROM range(900)"
    without_jobs = 0
    for statement in JOINED:
        outcomes = []
        for most in (65_536, 0):
            spark.sql(f"CREATE TABLE {table_name} ({columns}) {partition} TBLPROPERTIES ({told})")
            spark.sql(f"INSERT INTO {table_name} {rows}")
            # A key is not enforced unless the table says so, and some rows are gone.
            spark.sql(f"INSERT INTO {table_name} VALUES (5, 'again', 55)")
            spark.sql(f"DELETE FROM {table_name} WHERE id IN (77, 78)")
            outcome: list[object] = []
            with planned(spark, looked_up_rows=most):
                jobs = _jobs(spark, partial(_told, spark, statement.format(table=table_name), outcome))
            outcomes.append([*outcome, canonical_rows(spark.sql(f"SELECT * FROM {table_name}"))])
            without_jobs += most > 0 and jobs == 0
            spark.sql(f"DROP TABLE {table_name} PURGE")
        assert outcomes[0] == outcomes[1], statement
    # A scan by buckets is grouped by them, and left to tasks.
    assert without_jobs >= (0 if shape == "buckets" else 8)


def _told(spark: SparkSession, statement: str, outcome: list[object]) -> None:
    """What the statement returns, or its error."""
    try:
        outcome += [tuple(row) for row in spark.sql(statement).collect()]
    except PySparkException as error:
        outcome.append(str(error).partition("\n")[0])


def test_rows_of_which_no_column_is_read_are_counted(spark: SparkSession, table_name: str) -> None:
    """The bounds of files answer the condition, so that not even the key is read; and the rows are larger than those
    that the driver reads by Spark's readers."""
    spark.sql(f"CREATE TABLE {table_name} (id INT NOT NULL, PRIMARY KEY (id) NOT ENFORCED)")
    for id in (5, 6, 5):
        spark.sql(f"INSERT INTO {table_name} VALUES ({id})")
    for where, count in (("id = 5", 2), ("id IN (5, 6)", 3)):
        with planned(spark, looked_up_rows=1):
            assert len(spark.sql(f"SELECT 1 FROM {table_name} WHERE {where}").collect()) == count
            assert len(spark.sql(f"SELECT 1 FROM {table_name} WHERE {where} LIMIT 2").collect()) == 2


def test_more_rows_are_left_to_tasks(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS})")
    spark.sql(f"INSERT INTO {table_name} {ROWS.format(rows=2000)}")
    query = f"SELECT * FROM {table_name} WHERE day = DATE'2024-01-08'"
    expected = canonical_rows(spark.sql(query))
    assert len(expected) == 5
    with planned(spark, looked_up_rows=1999):
        assert _jobs(spark, lambda: spark.sql(query).collect()) == 1
        assert canonical_rows(spark.sql(query)) == expected
    with planned(spark, looked_up_rows=2000):
        assert _jobs(spark, lambda: spark.sql(query).collect()) == 0


def test_what_fails_is_left_to_tasks_and_told_by_them(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, s STRING)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
        spark.sql(f"SELECT s FROM {table_name} WHERE id = 1 AND 1 / (id - 1) > 0").collect()
    (path,) = (row[0] for row in spark.sql(f"SELECT file_path FROM {table_name}.data_files").collect())
    spark.sql(f"SELECT s FROM {table_name} WHERE id = 1").collect()
    Path(path.removeprefix("file://")).unlink()
    messages = []
    for most in (0, 65_536):
        with (
            planned(spark, looked_up_rows=most),
            pytest.raises(Exception, match="FILE_NOT_FOUND") as caught,
        ):
            spark.sql(f"SELECT s FROM {table_name} WHERE id = 1").collect()
        messages.append(str(caught.value).splitlines()[0])
    assert messages[0] == messages[1]


def test_more_rows_than_the_driver_keeps_are_left_to_tasks(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, kind STRING, wide STRING)")
    rows = "SELECT id, IF(id < 5000, 'many', 'few'), repeat(CAST(id % 10 AS STRING), 16384) FROM range(5300)"
    spark.sql(f"INSERT INTO {table_name} {rows}")
    with planned(spark, driver_bytes=2**40):

        def jobs(select: str, kind: str) -> int:
            return _jobs(spark, lambda: spark.sql(f"SELECT {select} FROM {table_name} WHERE kind = '{kind}'").collect())

        assert jobs("id", "many") == 1
        assert jobs("id", "few") == 0
        assert jobs("wide", "few") == 1
        first = f"SELECT id FROM {table_name} WHERE kind = 'many' LIMIT 3"
        assert _jobs(spark, lambda: spark.sql(first).collect()) == 0
        assert (
            spark.sql(f"SELECT sum(length(wide)) FROM {table_name} WHERE kind = 'many'").collect()[0][0] == 5000 * 16384
        )


@pytest.mark.parametrize("format", ["orc", "parquet"])
def test_files_of_other_formats(spark: SparkSession, table_name: str, tmp_path: Path, format: str) -> None:
    spark.sql("SELECT id, concat('n', id) AS s FROM range(5000)").coalesce(1).write.format(format).save(f"{tmp_path}/f")
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, s STRING)")
    source = f"`{format}`.`{tmp_path}/f`"
    spark.sql(f"CALL lake.system.add_files(table => '{table_name}', source_table => '{source}')")
    query = f"SELECT s FROM {table_name} WHERE id = 77"
    assert _jobs(spark, lambda: spark.sql(query).collect()) == 0
    assert [row.s for row in spark.sql(query).collect()] == ["n77"]


def test_explain_names_the_limit(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, s STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")

    def explained(query: str) -> str:
        return str(spark.sql(f"EXPLAIN {query}").collect()[0][0])

    said = "[by the driver if it has to read few rows of data files (sqlext.plan.looked-up-rows){}, else by tasks]"
    assert "LookUp " + said.format("") in explained(f"SELECT s FROM {table_name} WHERE s = 'a'")
    by_key = ", or finds few by the table's key"
    assert "LookUp " + said.format(by_key) in explained(f"SELECT s FROM {table_name} WHERE id = 1")
    assert "LookUp" not in explained(f"SELECT s FROM {table_name} WHERE id > 1")


def test_it_is_part_of_any_query(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, s STRING)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (2, 'c')")
    one = spark.table(table_name).where("id = 2")
    longer = udf(lambda text: text * 2)
    assert {row[0] for row in one.select(longer("s")).collect()} == {"bb", "cc"}
    assert one.toPandas()["s"].tolist() == ["b", "c"]
    assert one.rdd.map(lambda row: row.s).collect() == ["b", "c"]
    assert one.repartition(3).count() == one.count() == one.cache().count() == one.count() == 2
    one.unpersist()
    assert one.tail(1)[0].s == "c"
    assert one.union(one).distinct().count() == 2
    assert [row.s for row in one.orderBy("s", ascending=False).collect()] == ["c", "b"]
    spark.sql(f"INSERT INTO {table_name} SELECT id + 1, s FROM {table_name} WHERE id = 2")
    assert spark.table(table_name).where("id = 3").count() == 2
    assert one.collect() == one.collect()


def test_a_query_has_the_version_that_it_was_planned_on(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, s STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    before = spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots").collect()[0][0]
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'b')")
    old = spark.sql(f"SELECT s FROM {table_name} VERSION AS OF {before} WHERE id = 1")
    assert ([row.s for row in old.collect()], _value(spark, table_name)) == (["a"], "b")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH other")
    spark.sql(f"UPSERT INTO {table_name}.branch_other VALUES (1, 'c')")
    assert (_value(spark, table_name), _value(spark, f"{table_name}.branch_other")) == ("b", "c")


def _value(spark: SparkSession, table: str) -> str:
    (row,) = spark.sql(f"SELECT s FROM {table} WHERE id = 1").collect()
    return str(row.s)


@pytest.mark.parametrize(
    ("type", "values"),
    [
        ("STRING", ["", "a", "a\x00b", "ä", "a" * 100]),
        ("DECIMAL(38, 10)", [Decimal("0"), Decimal("-1.5"), Decimal("12345678901234567890.0123456789")]),
        ("BINARY", [bytearray(b""), bytearray(b"\x00"), bytearray(b"\xff\x00")]),
        ("DATE", [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]),
        ("DOUBLE", [0.0, -0.0, float("nan"), float("inf"), 1e-300]),
        ("BOOLEAN", [True, False]),
        ("TINYINT", [-128, 0, 127]),
    ],
)
def test_each_value_is_found(spark: SparkSession, table_name: str, type: str, values: list[object]) -> None:
    spark.sql(f"CREATE TABLE {table_name} (n INT, v {type})")
    given = spark.createDataFrame([*enumerate(values), (len(values), None)], f"n INT, v {type}")
    given.writeTo(table_name).append()
    for value in values:
        wanted = spark.createDataFrame([(value,)], f"v {type}")
        literal = spark.sql(f"SELECT * FROM {table_name} WHERE v = :v", args={"v": wanted.collect()[0].v})
        joined = spark.table(table_name).join(wanted, "v").select("n", "v")
        assert canonical_rows(literal) == canonical_rows(joined)
        assert literal.count() >= 1
