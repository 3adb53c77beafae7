"""DataFrame.mergeInto and other row-level commands that come as Spark's plans rather than as a statement's text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge
from sqlext.spark.bridge.bridge import Bridge


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> str:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, n INT, s STRUCT<a: INT, b: STRING>)")
    spark.sql(
        f"INSERT INTO {table_name} VALUES (1, 'one', 10, NULL), (2, 'two', 20, named_struct('a', 2, 'b', 'b')),"
        " (3, 'three', 30, NULL)"
    )
    return table_name


def rows_of(spark: SparkSession, table: str) -> list[list[object]]:
    return canonical_rows(spark.table(table))


def last_summary(spark: SparkSession, warehouse: Path, table: str) -> dict[str, str]:
    folder = warehouse.joinpath(*table.split(".")[1:], "metadata")
    newest = max(folder.glob("v*.metadata.json"), key=lambda file: int(file.name.split(".")[0][1:]))
    summary: dict[str, str] = json.loads(newest.read_text())["snapshots"][-1]["summary"]
    return summary


def test_every_clause(spark: SparkSession, iceberg: IcebergJudge, table: str) -> None:
    source = spark.sql("SELECT * FROM VALUES (1, 'ONE'), (2, NULL), (9, 'nine'), (NULL, 'none') AS s(id, v)").alias("s")
    name = table.rpartition(".")[2]
    (
        source.mergeInto(table, F.expr(f"{name}.id = s.id"))
        .whenMatched(F.col("s.v").isNull()).delete()
        .whenMatched(F.col(f"{name}.n") > 100).update({"v": F.lit("never")})
        .whenMatched().update({"v": F.concat(F.col("s.v"), F.col(f"{name}.n")), "s.b": F.lit("new")})
        .whenNotMatched(F.col("s.id").isNotNull()).insert({"id": F.col("s.id"), "v": F.upper(F.col("s.v"))})
        .whenNotMatchedBySource(F.col(f"{name}.n") >= 30).update({"n": F.col(f"{name}.n") + 1})
        .whenNotMatchedBySource().delete()
        .merge()
    )  # fmt: skip
    expected = [[1, "ONE10", 10, {"a": None, "b": "new"}], [3, "three", 31, None], [9, "NINE", None, None]]
    assert rows_of(spark, table) == expected == iceberg.sql(f"SELECT * FROM {table}")


@pytest.mark.parametrize("mode", ["equality", "resolved"])
def test_an_upsert_on_the_key_is_known_as_such(
    spark: SparkSession, warehouse: Path, table_name: str, mode: str
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='{mode}')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'old'), (2, 'kept')")
    source = spark.sql("SELECT * FROM VALUES ('new', 1L), ('more', 3L) AS s(v, id)")
    merge = source.alias("s").mergeInto(table_name, F.expr(f"{table_name.rpartition('.')[2]}.id = s.id"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert rows_of(spark, table_name) == [[1, "new"], [2, "kept"], [3, "more"]]
    assert (last_summary(spark, warehouse, table_name).get("added-equality-deletes", "0") != "0") == (
        mode == "equality"
    )


def test_two_source_rows_for_one_row(spark: SparkSession, table: str) -> None:
    source = spark.sql("SELECT * FROM VALUES (1, 'a'), (1, 'b') AS s(id, v)").alias("s")
    name = table.rpartition(".")[2]
    merge = source.mergeInto(table, F.expr(f"{name}.id = s.id")).whenMatched().update({"v": F.col("s.v")})
    with pytest.raises(AnalysisException) as caught:
        merge.merge()
    assert caught.value.getCondition() == "MERGE_CARDINALITY_VIOLATION"
    assert '{"id": 1}' in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value", "condition"),
    [
        ("n", "'text'", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"),
        ("nope", "1", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("n", "nope + 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ],
)
def test_what_does_not_fit_is_refused(spark: SparkSession, table: str, column: str, value: str, condition: str) -> None:
    source = spark.range(1, 3).alias("s")
    name = table.rpartition(".")[2]
    with pytest.raises(AnalysisException) as caught:
        source.mergeInto(table, F.expr(f"{name}.id = s.id")).whenMatched().update({column: F.expr(value)}).merge()
    assert caught.value.getCondition() == condition
    assert "sqlext_given" not in str(caught.value)


def test_sources_of_any_kind(spark: SparkSession, table: str) -> None:
    """The target itself, columns of one name, subqueries and functions of Python."""
    name = table.rpartition(".")[2]
    own = spark.table(table).alias("s")
    own.mergeInto(table, F.expr(f"{name}.id = s.id + 1")).whenMatched().update({"n": F.col("s.n")}).merge()
    assert [row[2] for row in rows_of(spark, table)] == [10, 10, 20]
    left, right = spark.range(3).alias("l"), spark.range(3).alias("r")
    twice = left.join(right, F.expr("l.id = r.id"))
    twice.mergeInto(table, F.expr(f"{name}.id = l.id AND {name}.id = r.id")).whenMatched().update(
        {"n": F.col("l.id") + F.col("r.id")}
    ).merge()
    assert [row[2] for row in rows_of(spark, table)] == [2, 4, 20]
    shout = F.udf(lambda text: f"{text}!", "string")
    source = spark.range(4).alias("s")
    source.mergeInto(table, F.expr(f"{name}.id = s.id")).whenMatched(
        F.expr(f"EXISTS (SELECT 1 FROM range(3) AS e WHERE e.id + 1 = {name}.id)")
    ).update({"v": shout(F.col("v"))}).merge()
    assert [row[1] for row in rows_of(spark, table)] == ["one!", "two!", "three!"]


def test_statements_whose_table_spark_names(spark: SparkSession, table: str) -> None:
    counts = spark.sql(f"UPDATE IDENTIFIER('{table}') SET s.a = 5, n = n + 1 WHERE id = 2").collect()[0]
    assert (counts.num_affected_rows, counts.num_updated_rows) == (1, 1)
    assert spark.sql(f"DELETE FROM IDENTIFIER('{table}') WHERE id = 3").collect()[0].num_deleted_rows == 1
    merge = f"MERGE INTO IDENTIFIER('{table}') AS t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE"
    assert spark.sql(merge).collect()[0].num_deleted_rows == 1
    assert rows_of(spark, table) == [[2, "two", 21, {"a": 5, "b": "b"}]]
    assert spark.sql(f"DELETE FROM IDENTIFIER('{table}')").collect()[0].num_deleted_rows == 1


def test_columns_that_the_source_brings(spark: SparkSession, iceberg: IcebergJudge, table: str) -> None:
    source = spark.sql("SELECT 1 AS id, 'new' AS more UNION ALL SELECT 9, 'nine'").alias("s")
    merge = source.mergeInto(table, F.expr(f"{table.rpartition('.')[2]}.id = s.id")).withSchemaEvolution()
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    rows = spark.sql(f"SELECT id, v, more FROM {table}")
    assert canonical_rows(rows) == [[1, "one", "new"], [2, "two", None], [3, "three", None], [9, None, "nine"]]
    assert rows_of(spark, table) == iceberg.sql(f"SELECT * FROM {table}")


def test_a_source_is_evaluated_once(spark: SparkSession, table: str) -> None:
    """Each row of the source counts itself; a row that clauses and values saw twice would have been counted twice."""
    calls = spark.sparkContext.accumulator(0)

    def count(id: int) -> int:
        calls.add(1)
        return id

    counted = F.udf(count, "int").asNondeterministic()
    source = spark.range(10, numPartitions=1).select(counted(F.col("id")).alias("id"), F.rand().alias("r"))
    source.createOrReplaceTempView("counted_source")
    spark.sql(
        f"MERGE INTO {table} AS t USING counted_source AS s ON t.id = s.id"
        " WHEN MATCHED AND s.r < 0.5 THEN UPDATE SET v = concat('low ', s.r < 0.5)"
        " WHEN MATCHED THEN UPDATE SET v = concat('high ', s.r >= 0.5)"
        " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, concat('new ', s.r = s.r))"
    )
    assert calls.value == 10
    values = spark.table(table).select("id", "v").collect()
    assert sorted(row.id for row in values) == list(range(10))
    assert all(row.v.endswith("true") for row in values)


@pytest.mark.parametrize(
    ("source", "twice"),
    [
        ("(VALUES (1, 'new'), (9, 'nine') AS v(id, v))", True),
        ("(SELECT 1 AS id, 'new' AS v UNION ALL SELECT 9, 'nine')", True),
        ("stored", True),
        ("(SELECT id, upper(v) AS v FROM stored WHERE id > 0)", True),
        ("(SELECT x.id, v FROM stored AS x, range(1))", False),
        ("(SELECT id, max(v) AS v FROM stored GROUP BY id)", False),
        ("(SELECT id, concat(v, rand()) AS v FROM stored)", False),
        ("(SELECT own(id) AS id, v FROM stored)", False),
        ("(SELECT id, concat(v, (SELECT max('') FROM stored)) AS v FROM stored)", False),
        ("files", False),
    ],
)
def test_a_source_stands_twice_where_that_shows_in_nothing_but_its_speed(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, tmp_path: Path, source: str, twice: bool
) -> None:
    """One that is not the same by each reading may insert what it has matched before."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'one'), (2, 'two')")
    spark.sql(f"CREATE TABLE {table_name}_source (id INT, v STRING)")
    spark.sql(f"INSERT INTO {table_name}_source VALUES (1, 'new'), (9, 'nine')")
    spark.udf.register("own", lambda id: id, "int")
    spark.table(f"{table_name}_source").write.parquet(str(tmp_path / "files"))
    spark.read.parquet(str(tmp_path / "files")).createOrReplaceTempView("files")
    merge = (
        f"MERGE INTO {table_name} AS t USING {source.replace('stored', f'{table_name}_source')} AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    assert ("LeftSemi" in spark.sql(f"EXPLAIN {merge}").first()[0]) == twice
    assert spark.sql(merge).first()["num_affected_rows"] == 2
    ids = f"SELECT id, lower(substr(v, 1, 3)) FROM {table_name}"
    assert canonical_rows(spark.sql(ids)) == iceberg.sql(ids) == [[1, "new"], [2, "two"], [9, "nin"]]


@pytest.mark.parametrize("source", ["{}", "(WITH c AS (SELECT * FROM {}) SELECT * FROM c)", "a_view"])
def test_a_table_that_stands_twice_is_one_version(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    for name in (table_name, f"{table_name}_source"):
        spark.sql(f"CREATE TABLE {name} (id INT)")
        spark.sql(f"INSERT INTO {name} VALUES (1)")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW a_view AS SELECT * FROM {table_name}_source")
    loaded: list[str] = []
    ask = Bridge.ask

    def counted(self: Bridge, question: str, arguments: str) -> str:
        loaded.append(f"{question} {json.loads(arguments).get('name')}")
        return ask(self, question, arguments)

    monkeypatch.setattr(Bridge, "ask", counted)
    text = source.format(f"{table_name}_source")
    query = f"{text} AS a LEFT JOIN ({table_name} AS t LEFT SEMI JOIN {text} AS b ON t.id = b.id) ON a.id = t.id"
    spark.sql(f"SELECT a.id FROM {query}").collect()
    assert loaded.count(f"load table {table_name.rpartition('.')[2]}_source") == 1


@pytest.mark.parametrize("unknown", [False, True])
def test_rows_that_come_into_an_order_are_evaluated_once(spark: SparkSession, table_name: str, unknown: bool) -> None:
    """Spark samples rows to spread or sort them by ranges: few that one task sorts, and nobody knows how many."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING)")
    spark.sql(f"ALTER TABLE {table_name} WRITE ORDERED BY id")
    calls = spark.sparkContext.accumulator(0)

    def count(id: int) -> int:
        calls.add(1)
        return id

    source = spark.range(6, numPartitions=2)
    if unknown:
        source = source.select(F.explode(F.array("id")).alias("id"))
    counted = F.udf(count, "int").asNondeterministic()
    source.select(counted(F.col("id")).alias("id")).createOrReplaceTempView("ordered_source")
    spark.sql(
        f"MERGE INTO {table_name} AS t USING ordered_source AS s ON t.id = s.id"
        " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'new')"
    )
    assert calls.value == 6
    assert sorted(row.id for row in spark.table(table_name).collect()) == list(range(6))


def test_a_violation_is_told_without_the_source(spark: SparkSession, table: str) -> None:
    """With rand() in the condition, a second evaluation of the source would find other rows."""
    calls = spark.sparkContext.accumulator(0)

    def count(id: int) -> int:
        calls.add(1)
        return 2

    twos = spark.range(4, numPartitions=1).select(F.udf(count, "int").asNondeterministic()(F.col("id")).alias("id"))
    twos.createOrReplaceTempView("twos")
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"MERGE INTO {table} AS t USING twos AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = n + 1")
    assert '{"id": 2}' in str(caught.value)
    assert calls.value == 4


def test_now_is_one_moment(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, a TIMESTAMP, b TIMESTAMP)")
    source = "(SELECT CAST(id AS INT) AS id, current_timestamp() AS a FROM range(3))"
    spark.sql(
        f"MERGE INTO {table_name} AS t USING {source} AS s ON t.id = s.id"
        " WHEN NOT MATCHED THEN INSERT (id, a, b) VALUES (s.id, s.a, now())"
    )
    assert spark.sql(f"SELECT count(DISTINCT a), count_if(a = b) FROM {table_name}").collect() == [(1, 3)]
