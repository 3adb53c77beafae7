"""The programs of docs/errors.md in Spark end with the errors that they are to show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import sqlext
from error_examples import IN_SPARK, program
from golden.runner import render_error


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The current namespace is `lake.shop`, and new."""
    monkeypatch.chdir(tmp_path)
    before = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    spark.sql("CREATE NAMESPACE lake.shop")
    spark.sql("USE lake.shop")
    yield
    for stream in spark.streams.active:
        stream.stop()
    for table in spark.sql("SHOW TABLES IN lake.shop").collect():
        spark.sql(f"DROP TABLE lake.shop.{table.tableName} PURGE")
    spark.sql("DROP NAMESPACE lake.shop")
    spark.catalog.setCurrentCatalog(before[0])
    spark.catalog.setCurrentDatabase(before[1])


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("condition", IN_SPARK)
def test_a_program_ends_with_its_error(
    spark: SparkSession, condition: str, tmp_path: Path, shown_error: Callable[[str, str], None]
) -> None:
    text = program(condition).replace("/home/ada", str(tmp_path))
    with pytest.raises(Exception, match=condition) as ended:
        exec(compile(text, condition, "exec"), {"spark": spark, "sqlext": sqlext})
    message = render_error(ended.value)
    message = message[message.index(f"[{condition}] ") :]
    shown_error(condition, message)
