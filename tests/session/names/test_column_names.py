"""Columns of names that need quotes are written by executors too."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows


@pytest.mark.parametrize("name", ["tick`", "`", "a.b", "it's", 'dq"', " ", "žluť 🐎", "0"])
def test_a_write_on_executors(spark: SparkSession, table_name: str, name: str) -> None:
    quoted = f"`{name.replace('`', '``')}`"
    session = spark.newSession()
    for limit in ("sqlext.plan.driver-bytes", "sqlext.plan.driver-rows"):
        session.conf.set(limit, 1)
    session.sql(f"CREATE TABLE {table_name} ({quoted} INT)")
    session.sql(f"INSERT INTO {table_name} SELECT id FROM range(1, 4)")
    session.sql(f"UPDATE {table_name} SET {quoted} = {quoted} * 10 WHERE {quoted} > 1")
    assert canonical_rows(session.sql(f"SELECT {quoted} FROM {table_name}")) == [[1], [20], [30]]
