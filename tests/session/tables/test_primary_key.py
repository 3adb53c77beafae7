"""Every spelling of a primary key gives the same table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

ROWS = "SELECT CAST(1 AS INT) AS id, 'a' AS part, 1.5D AS v"
COLUMNS = "id INT, part STRING, v DOUBLE"


def _of_data_frame(spark: SparkSession, name: str) -> None:
    rows = spark.sql(ROWS).select("id", "part", F.col("v"))
    rows.writeTo(name).tableProperty("primary-key", "id, part").create()


def _statements(*texts: str) -> Callable[[SparkSession, str], None]:
    def run(spark: SparkSession, name: str) -> None:
        for text in texts:
            spark.sql(text.format(t=name))

    return run


SPELLINGS: dict[str, Callable[[SparkSession, str], None]] = {
    "flink": _statements(
        f"CREATE TABLE {{t}} ({COLUMNS}, PRIMARY KEY (id, part) NOT ENFORCED) WITH ('format-version'='2')"
    ),
    "spark": _statements(f"CREATE TABLE {{t}} ({COLUMNS}, CONSTRAINT pk PRIMARY KEY (part, ID)) USING iceberg"),
    "property": _statements(f"CREATE TABLE {{t}} ({COLUMNS}) TBLPROPERTIES ('primary-key'='`id`,part')"),
    "as select": _statements(f"CREATE TABLE {{t}} (PRIMARY KEY (id, part)) AS {ROWS}"),
    "property, as select": _statements(f"CREATE TABLE {{t}} TBLPROPERTIES ('primary-key'='id,part') AS {ROWS}"),
    "like": _statements(f"CREATE TABLE {{t}}_o ({COLUMNS}, PRIMARY KEY (id, part))", "CREATE TABLE {t} LIKE {t}_o"),
    "added": _statements(f"CREATE TABLE {{t}} ({COLUMNS})", "ALTER TABLE {t} ADD PRIMARY KEY (id, part) NOT ENFORCED"),
    "identifier fields": _statements(
        "CREATE TABLE {t} (id INT NOT NULL, part STRING NOT NULL, v DOUBLE)",
        "ALTER TABLE {t} SET IDENTIFIER FIELDS id, part",
    ),
    "data frame": _of_data_frame,
}


def _definition(warehouse: Path, name: str) -> dict[str, Any]:
    """The current schema but for its number, and the properties."""
    folder = warehouse.joinpath(*name.split(".")[1:], "metadata")
    newest = max(folder.glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))
    metadata = json.loads(newest.read_text())
    schemas = {schema["schema-id"]: schema for schema in metadata["schemas"]}
    schema = {**schemas[metadata["current-schema-id"]], "schema-id": 0}
    return {"schema": schema, "properties": metadata["properties"], "version": metadata["format-version"]}


@pytest.mark.parametrize("spelling", [name for name in SPELLINGS if name != "flink"])
def test_every_spelling_gives_the_same_table(
    spark: SparkSession, warehouse: Path, table_name: str, spelling: str
) -> None:
    SPELLINGS["flink"](spark, table_name)
    SPELLINGS[spelling](spark, f"{table_name}_x")
    expected = _definition(warehouse, table_name)
    assert expected["schema"]["identifier-field-ids"] == [1, 2]
    assert _definition(warehouse, f"{table_name}_x") == expected
