"""Target rows that several source rows match: refused in every way that a MERGE is written, as Iceberg refuses them."""

from __future__ import annotations

import itertools

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from judges.iceberg import IcebergJudge, JudgeError

# Clauses about rows that match, and whether Spark lets a row be matched twice beside them. In the source two rows match
# the row 1, and `op` is 'a' in one of them; nothing but an unconditional DELETE alone makes that no question.
MATCHED = {
    "WHEN MATCHED THEN UPDATE SET v = s.op": False,
    "WHEN MATCHED AND s.op = 'a' THEN UPDATE SET v = s.op": False,
    "WHEN MATCHED AND s.op = 'a' THEN DELETE": False,
    "WHEN MATCHED AND s.op = 'none' THEN DELETE": False,
    "WHEN MATCHED AND s.op = 'a' THEN DELETE WHEN MATCHED AND s.op = 'none' THEN UPDATE SET v = 'x'": False,
    "WHEN MATCHED AND s.op = 'a' THEN UPDATE SET v = 'x' WHEN MATCHED THEN DELETE": False,
    "WHEN MATCHED THEN DELETE": True,
    "": True,
}
OTHERS = ["", "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.op)", "WHEN NOT MATCHED BY SOURCE THEN DELETE"]
_BESIDE = itertools.cycle([*OTHERS, " ".join(OTHERS[1:])])
# Refusals first, which leave the table as it is.
CLAUSES = sorted(zip(list(MATCHED) * 3, _BESIDE, strict=False), key=lambda pair: MATCHED[pair[0]])
FEW = "(SELECT * FROM VALUES (1, 'a'), (1, 'b'), (3, 'c'), (9, 'd') AS v(id, op)) AS s"
MANY = "(SELECT id % 40000 + 1 AS id, if(id < 40000, 'a', 'b') AS op FROM range(40001)) AS s"
MODES = ["merge-on-read", "copy-on-write", "auto"]


def _refusal(spark: SparkSession, text: str) -> str | None:
    try:
        spark.sql(text)
    except AnalysisException as error:
        return error.getCondition() if '"id": 1}' in str(error) else str(error)
    return None


@pytest.mark.parametrize("mode", MODES)
def test_every_kind_of_clause(spark: SparkSession, table_name: str, mode: str) -> None:
    version = {"merge-on-read": 2, "copy-on-write": 1, "auto": 3}[mode]
    spark.sql(
        f"CREATE TABLE {table_name} (id INT NOT NULL, v STRING)"
        f" TBLPROPERTIES ('write.merge.mode'='{mode}', 'format-version'='{version}')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    stored = spark.table(table_name).collect()
    for matched, other in CLAUSES if mode == "merge-on-read" else CLAUSES[::3]:
        if not (matched or other):
            continue
        found = _refusal(spark, f"MERGE INTO {table_name} AS t USING {FEW} ON t.id = s.id {matched} {other}")
        assert found == (None if MATCHED[matched] else "MERGE_CARDINALITY_VIOLATION"), (matched, other)
        if not MATCHED[matched]:
            assert sorted(spark.table(table_name).collect()) == sorted(stored), (matched, other)
        else:
            # The row 1 is deleted, or there once and as it was.
            rows = [row[1] for row in spark.table(table_name).where("id = 1").collect()]
            assert rows == ([] if matched else ["one"]), (matched, other)
            spark.sql(f"INSERT OVERWRITE {table_name} VALUES (1, 'one'), (2, 'two'), (3, 'three')")


def test_as_iceberg_judges(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    iceberg.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING) USING iceberg"
        " TBLPROPERTIES ('write.merge.mode'='merge-on-read', 'format-version'='2')"
    )
    for matched, lawful in MATCHED.items():
        iceberg.sql(f"INSERT OVERWRITE {table_name} VALUES (1, 'one'), (2, 'two'), (3, 'three')")
        merge = f"MERGE INTO {table_name} AS t USING {FEW} ON t.id = s.id {matched} {OTHERS[1]}"
        if lawful:
            iceberg.sql(merge)
        else:
            with pytest.raises(JudgeError, match="matched a single row from the target"):
                iceberg.sql(merge)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("clause", ["UPDATE SET v = s.op", "DELETE"])
def test_workers_find_it_too(spark: SparkSession, table_name: str, mode: str, clause: str) -> None:
    """The two source rows of the row 1 are far apart, and more rows match than the driver takes."""
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING) TBLPROPERTIES ('write.merge.mode'='{mode}')")
    spark.sql(f"INSERT INTO {table_name} SELECT id, 'v' FROM range(1, 40001)")
    merge = f"MERGE INTO {table_name} AS t USING {MANY} ON t.id = s.id WHEN MATCHED AND s.op = 'a' THEN {clause}"
    assert _refusal(spark, merge) == "MERGE_CARDINALITY_VIOLATION"
    assert spark.table(table_name).where("v = 'v'").count() == 40000


@pytest.mark.parametrize("mode", ["resolved", "equality"])
@pytest.mark.parametrize(
    "source", ["(VALUES (1, 'a'), (1, 'b')) AS s(id, v)", "(SELECT 1 AS id, 'a' AS v FROM range(2)) AS s"]
)
def test_upserts_by_key(spark: SparkSession, table_name: str, mode: str, source: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='{mode}')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'one')")
    merge = f"MERGE INTO {table_name} AS t USING {source} ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    assert _refusal(spark, f"{merge} WHEN NOT MATCHED THEN INSERT *") == "DUPLICATE_KEY"
    assert [row[1] for row in spark.table(table_name).collect()] == ["one"]


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_stay_are_held_to_nothing(spark: SparkSession, table_name: str, mode: str) -> None:
    """A row that is only matched is not written: what the table asks of a new row is not asked of it."""
    spark.sql(
        f"CREATE TABLE {table_name} (id INT NOT NULL, v STRING, CONSTRAINT some CHECK (v IS NOT NULL))"
        f" TBLPROPERTIES ('write.merge.mode'='{mode}')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'kept'), (2, 'gone'), (5, 'other')")
    answer = spark.sql(
        f"MERGE INTO {table_name} AS t USING (VALUES (1, 'no'), (2, 'yes'), (3, 'yes')) AS s(id, op) ON t.id = s.id"
        " WHEN MATCHED AND s.op = 'yes' THEN DELETE WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.op)"
    )
    assert answer.first()[:] == (2, 1, 0, 1)
    assert sorted(row[:] for row in spark.table(table_name).collect()) == [(1, "kept"), (3, "yes"), (5, "other")]


@pytest.mark.parametrize("mode", MODES)
def test_a_table_may_ask_for_changes_alone_to_count(spark: SparkSession, table_name: str, mode: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING) TBLPROPERTIES ('write.merge.mode'='{mode}',"
        " 'write.merge.cardinality-check'='changes')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'one'), (2, 'two')")
    rows = spark.sql("SELECT * FROM VALUES (1, 'a'), (1, 'b') AS s(id, op)").alias("s")
    name = table_name.rpartition(".")[2]

    def merge(condition: str) -> None:
        writer = rows.mergeInto(table_name, F.expr(f"{name}.id = s.id"))
        writer.whenMatched(F.expr(condition)).update({"v": F.col("s.op")}).merge()

    merge("s.op = 'b'")
    assert [row[1] for row in spark.table(table_name).orderBy("id").collect()] == ["b", "two"]
    with pytest.raises(AnalysisException, match="MERGE_CARDINALITY_VIOLATION"):
        merge("true")
    spark.sql(f"ALTER TABLE {table_name} UNSET TBLPROPERTIES ('write.merge.cardinality-check')")
    with pytest.raises(AnalysisException, match="MERGE_CARDINALITY_VIOLATION"):
        merge("s.op = 'a'")
