"""Forty random sequences of statements do to a table what they do to a list of rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from fuzz.differential import FEW_ROWS, PLANS, Difference, Differential, few_rows
from fuzz.expressions import constant
from fuzz.random_sequence import Creation
from fuzz.statements import Delete, Insert
from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge
from sqlext.scan.files import manifest_cache

SEEDS = [*range(1, 21), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(21, 41))]
STATEMENTS = 4


@pytest.fixture(scope="module")
def differential(spark: SparkSession, iceberg: IcebergJudge) -> Iterator[Differential]:
    for name, value in FEW_ROWS.items():
        iceberg.sql(f"SET {name}={value}")
    yield Differential(spark, iceberg)
    for name in FEW_ROWS:
        iceberg.sql(f"RESET {name}")


@pytest.mark.turns(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_sequence(
    spark: SparkSession, differential: Differential, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    if seed % 2:
        # As manifests of large tables are decoded.
        monkeypatch.setattr(manifest_cache, "_FEWEST_FOR_COLUMNS", 1)
    with few_rows(spark, compiled=seed % 3 == 0, forced=PLANS[seed % len(PLANS)], by_row=seed % 4 == 1):
        differential.run(seed, STATEMENTS)


def test_a_merge_that_only_inserts_where_rows_have_ids(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (k INT, v INT) TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1)")
    source = "(SELECT * FROM VALUES (1, 7), (2, 7), (3, 8) AS v(k, v)) AS s"
    spark.sql(
        f"MERGE INTO {table_name} AS t USING {source} ON t.k = s.k"
        " WHEN NOT MATCHED AND s.v = 7 THEN INSERT * WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)"
    )
    assert canonical_rows(spark.table(table_name)) == [[1, 1], [2, 7], [3, None]]


def test_a_difference_is_found_and_cut_down(differential: Differential, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that loses a delete must be noticed, with the statements that show it alone."""
    columns = {"k": "INT"}
    inserts = [Insert(columns, ({"k": number},)) for number in range(3)]
    statements = [*inserts, Delete(constant(True, "BOOLEAN")), *inserts]
    monkeypatch.setattr(Delete, "apply", lambda self, table: (0, 0, len(table.rows)))
    monkeypatch.setattr(
        "fuzz.differential.RandomSequence",
        lambda seed: type(
            "Fixed",
            (),
            {
                "creation": Creation(columns, (), (), {"format-version": "2"}),
                "statements": lambda self, count: statements,
            },
        )(),
    )
    with pytest.raises(Difference) as found:
        differential.run(0)
    assert str(found.value).count("INSERT INTO") == 1
    assert str(found.value).count("DELETE FROM") == 1
