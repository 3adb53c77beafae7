"""Whatever way a change is written, its rows are the same: a fixed core, and a few areas of the way whose day it is.

The end of a run names it, and the environment variable `SQLEXT_GOLDEN_STRATEGY` asks for it on another day.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from golden.strategies import CORE, ROTATING, areas_of, differences, rotating_strategy

ROTATED = rotating_strategy()
RUNS = {*CORE, *((ROTATED, area) for area in ROTATING if area in areas_of(ROTATED))}


@pytest.mark.parametrize(("strategy", "area"), sorted(RUNS))
def test_rows_are_those_recorded(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, strategy: str, area: str
) -> None:
    folder = tmp_path_factory.getbasetemp().resolve() / f"strategy_{strategy}"
    assert differences(spark, folder, strategy, area) == []
