"""Views of other engines."""

from __future__ import annotations

from dataclasses import replace

from sqlext.spark.catalog.view_description import spark_sql
from unit.command.lake import refused
from unit.spec.metadata.test_view_metadata import view


def test_a_view_that_has_no_query_of_spark() -> None:
    metadata = view()
    trino = {"type": "sql", "sql": "SELECT 1", "dialect": "trino"}
    version = replace(metadata.version(), representations=(trino,))
    with refused("VIEW_DIALECT_NOT_READ", "lake.db.v", "only in trino"):
        spark_sql("lake.db.v", replace(metadata, versions=(version,)))
