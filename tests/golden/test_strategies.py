"""Whatever way a change is written, its rows are the same.

One area runs under every plan that can be forced, and four under the way whose day it is: the end of a run names it,
and the environment variable `SQLEXT_GOLDEN_STRATEGY` asks for it on another day. The long run has more areas for each
plan, and all for that way. `run_strategies.py` runs all areas under all ways.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from golden.strategies import BY_FORCE, FIRST_FOR_EVERY_FORCE, FOR_EVERY_FORCE, areas_of, differences, rotating_strategy

ROTATED = rotating_strategy()
SHORT = {
    *((name, area) for name in BY_FORCE for area in FIRST_FOR_EVERY_FORCE if area in areas_of(name)),
    *((ROTATED, area) for area in FOR_EVERY_FORCE if area in areas_of(ROTATED)),
}
RUNS = {
    *SHORT,
    *((name, area) for name in BY_FORCE for area in FOR_EVERY_FORCE if area in areas_of(name)),
    *((ROTATED, area) for area in areas_of(ROTATED)),
}


@pytest.mark.parametrize(
    ("strategy", "area"),
    [pytest.param(*run, marks=() if run in SHORT else pytest.mark.long) for run in sorted(RUNS)],
)
def test_rows_are_those_recorded(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, strategy: str, area: str
) -> None:
    folder = tmp_path_factory.getbasetemp().resolve() / f"strategy_{strategy}"
    assert differences(spark, folder, strategy, area) == []
