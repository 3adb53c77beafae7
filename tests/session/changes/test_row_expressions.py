"""What a value or a condition of a statement that changes rows cannot be, in every place where one may stand."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

# Of several rows, or several rows themselves; each alone, in a function, and in a branch.
OF_ROWS = ["max(1)", "count(*)", "sum(DISTINCT 1)", "any_value(1)", "percentile(1, 0.5)", "total(1)", "max(s.id)"]
OF_ROWS += ["row_number() OVER (ORDER BY 1)", "max(1) OVER ()", "lag(1) OVER (ORDER BY 1)", "grouping_id()"]
OF_ROWS += ["explode(array(1, 2))", "explode_outer(array(1))", "posexplode(array(1))", "stack(2, 1, 2)"]
OF_ROWS += ["inline(array(struct(1)))", "json_tuple('{}', 'a')"]
AROUND = ["{}", "coalesce({}, 1) + 0", "CASE WHEN true THEN {} END", "transform(array({}), x -> x)[0]"]
UNSTEADY = [
    "rand() < 2",
    "uuid() > ''",
    "moody(1) = 1",
    "shuffle(array(1))[0] = 1",
    "monotonically_increasing_id() >= 0",
]
UNSTEADY += ["EXISTS (SELECT 1 FROM range(3) WHERE rand() < 2)", "CASE WHEN rand() < 2 THEN true END"]

_MERGE = "MERGE INTO {t} AS t USING (SELECT 1 AS id, 5 AS v) AS s ON "
VALUES = {
    "SET": "UPDATE {t} AS s SET v = {e}",
    "SET of a field": "UPDATE {t} AS s SET p.x = {e} WHERE v = 1",
    "SET of a key": "UPDATE {t} AS s SET id = {e}",
    "matched": _MERGE + "t.v = s.id WHEN MATCHED THEN UPDATE SET v = {e}",
    "inserted": _MERGE + "t.v = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES ({e}, {e})",
    "all inserted": _MERGE + "t.v = s.id WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES ({e}, {e}, null)",
    "not by source": _MERGE.replace(" AS t", " AS s").replace(" AS s ON", " AS u ON")
    + "s.v = u.id WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = {e}",
    "key upsert": _MERGE + "t.id = s.id WHEN MATCHED THEN UPDATE SET v = {e}, p = null"
    " WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, {e}, null)",
    "on conflict": "INSERT INTO {t} AS s VALUES (1, 2, null) ON CONFLICT (id) DO UPDATE SET v = {e}",
}
CONDITIONS = {
    "UPDATE WHERE": "UPDATE {t} AS s SET v = 1 WHERE {e}",
    "DELETE WHERE": "DELETE FROM {t} AS s WHERE {e}",
    "ON": _MERGE + "t.id = s.id AND {e} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
    "MATCHED": _MERGE + "t.id = s.id WHEN MATCHED AND {e} THEN DELETE",
    "NOT MATCHED": _MERGE + "t.id = s.id WHEN NOT MATCHED AND {e} THEN INSERT (id) VALUES (1)",
    "BY SOURCE": _MERGE.replace(" AS t", " AS s").replace(" AS s ON", " AS u ON")
    + "s.id = u.id WHEN NOT MATCHED BY SOURCE AND {e} THEN DELETE",
    "ON CONFLICT": "INSERT INTO {t} AS s VALUES (1, 2, null) ON CONFLICT (id) DO UPDATE SET v = 1 WHERE {e}",
    "REPLACE WHERE": "INSERT INTO {t} REPLACE WHERE {e} SELECT 1, 2, null",
    "CHECK": "ALTER TABLE {t} ADD CONSTRAINT c CHECK ({e})",
}
STATEMENTS = {f"{place}, a value": text for place, text in VALUES.items()}
STATEMENTS |= {place: text.replace("{e}", "({e}) IS NOT NULL") for place, text in CONDITIONS.items()}


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> str:
    def total(values: pd.Series) -> int:
        return int(values.sum())

    spark.udf.register("total", F.pandas_udf(total, "int"))
    spark.udf.register("moody", F.udf(lambda number: number, "int").asNondeterministic())
    name = "lake.db.row_expressions"
    spark.sql(f"CREATE TABLE {name} (id INT, v INT, p STRUCT<x: INT>, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, named_struct('x', 1)), (2, 2, null)")
    return name


def _taken(spark: SparkSession, table: str, statement: str, expressions: list[str]) -> list[str]:
    """Those of the expressions that the statement takes."""
    taken = []
    for expression in expressions:
        try:
            spark.sql(statement.replace("{t}", table).replace("{e}", expression))
            taken.append(expression)
        except AnalysisException as error:
            if error.getCondition() in (None, "INTERNAL_ERROR"):
                taken.append(f"{expression}: {error}")
    return taken


@pytest.mark.turns(2)
@pytest.mark.parametrize("place", STATEMENTS)
def test_a_value_or_condition_of_several_rows_is_refused(spark: SparkSession, table: str, place: str) -> None:
    number = list(STATEMENTS).index(place)
    around = [AROUND[(number + n) % len(AROUND)].format(one) for n, one in enumerate(OF_ROWS)]
    expressions = [text.replace("s.id", "id") if place in ("REPLACE WHERE", "CHECK") else text for text in around]
    assert _taken(spark, table, STATEMENTS[place], expressions) == []
    assert spark.table(table).count() == 2


@pytest.mark.parametrize("place", CONDITIONS)
def test_a_condition_that_may_change_its_mind_is_refused(spark: SparkSession, table: str, place: str) -> None:
    assert _taken(spark, table, CONDITIONS[place], UNSTEADY) == []
    assert spark.table(table).count() == 2


@pytest.mark.parametrize("condition", ["rand() < 2", "max(1) > 0", "explode(array(true))"])
@pytest.mark.parametrize("verb", ["merge", "overwrite"])
def test_frames_are_held_to_it(spark: SparkSession, table: str, verb: str, condition: str) -> None:
    rows = spark.sql("SELECT 1 AS id, 2 AS v, named_struct('x', 1) AS p").alias("s")
    ways: dict[str, Callable[[], None]] = {
        "merge": rows.mergeInto(table, F.expr("row_expressions.id = s.id"))
        .whenMatched(F.expr(condition))
        .delete()
        .merge,
        "overwrite": lambda: rows.writeTo(table).overwrite(F.expr(condition)),
    }
    with pytest.raises(AnalysisException):
        ways[verb]()
    assert spark.table(table).count() == 2


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("UPDATE {t} SET v = CAST(10 + rand() AS INT) WHERE id = 1", 1),
        ("UPDATE {t} SET v = (SELECT max(id) FROM range(11)) WHERE id IN (SELECT max(1) FROM range(3))", 1),
        (
            "MERGE INTO {t} AS t USING (SELECT id, rand() AS r FROM range(1, 3)) AS s ON t.id = s.id"
            " WHEN MATCHED AND s.r < 2 THEN UPDATE SET v = moody(10) WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
            2,
        ),
        ("DELETE FROM {t} WHERE id > (SELECT count(*) + 1 FROM range(1)) OR current_timestamp() < DATE'2000-01-01'", 0),
    ],
)
def test_subqueries_and_assigned_values_are_free(
    spark: SparkSession, table_name: str, table: str, statement: str, changed: int
) -> None:
    spark.sql(f"CREATE TABLE {table_name} AS SELECT id, v, 1 AS r FROM {table}")
    assert spark.sql(statement.format(t=table_name)).first()[0] == changed
    assert spark.table(table_name).where("v = 10").count() == changed
