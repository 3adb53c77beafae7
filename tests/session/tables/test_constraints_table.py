"""`t.constraints`, the key and the rules of a table's rows as a metadata table, and DESCRIBE beside it."""

from __future__ import annotations

from pyspark.sql import Row, SparkSession

import sqlext


def test_all_rules_of_rows_are_told(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT GENERATED ALWAYS AS IDENTITY, `a.b` STRING NOT NULL, v VARCHAR(5),"
        " n INT, twice INT GENERATED ALWAYS AS (n * 2), s STRUCT<x: INT NOT NULL>, PRIMARY KEY (id, `a.b`),"
        " CONSTRAINT some CHECK (n > 0))"
    )
    query = (
        f"SELECT constraint_type, constraint_name AS name, columns, expression, enforced FROM {table_name}.constraints"
    )
    found = [tuple(row) for row in spark.sql(query).collect()]
    assert found == [
        ("PRIMARY KEY", None, ["id", "a.b"], None, False),
        ("NOT NULL", None, ["id"], None, True),
        ("NOT NULL", None, ["a.b"], None, True),
        ("NOT NULL", None, ["s.x"], None, True),
        ("CHECK", "some", None, "n > 0", True),
        ("LENGTH", None, ["v"], "5", True),
        ("IDENTITY", None, ["id"], "GENERATED ALWAYS AS IDENTITY (START WITH 1 INCREMENT BY 1)", True),
        ("GENERATED", None, ["twice"], "n * 2", True),
    ]
    told = [row.col_name for row in spark.sql(f"DESCRIBE {table_name}").collect()]
    heading = told.index("# Constraints")
    # Lengths are types in DESCRIBE.
    assert len(told[heading + 1 :]) == len({kind for kind, *_ in found} - {"LENGTH"})
    spark.sql(f"ALTER TABLE {table_name} MODIFY PRIMARY KEY (id, `a.b`) ENFORCED")
    assert spark.sql(f"{query} WHERE constraint_type = 'PRIMARY KEY'").first() == Row(
        constraint_type="PRIMARY KEY", name=None, columns=["id", "a.b"], expression=None, enforced=True
    )


def test_defaults_are_shown_as_they_are_written(spark: SparkSession, table_name: str) -> None:
    given = {
        "INT": "-1",
        "BIGINT": "7",
        "DECIMAL(9, 2)": "1.50",
        "DOUBLE": "0.5",
        "STRING": "'x'",
        "BOOLEAN": "true",
        "DATE": "DATE '2026-01-31'",
    }
    columns = ", ".join(f"c{number} {type} DEFAULT {text}" for number, (type, text) in enumerate(given.items()))
    spark.sql(f"CREATE TABLE {table_name} ({columns}) TBLPROPERTIES ('format-version'='3')")
    told = {row.col_name: row.data_type for row in spark.sql(f"DESCRIBE {table_name}").collect()}
    shown = [told[f"Default of `c{number}`"] for number in range(len(given))]
    assert shown == [one.default for one in sqlext.table(spark, table_name).describe().columns] == list(given.values())
