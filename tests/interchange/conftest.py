"""A table of its own for each test, with its judges."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge
from judges.judged import Judged


@pytest.fixture
def judged(spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str) -> Judged:
    return Judged(spark, iceberg, warehouse, table_name)
