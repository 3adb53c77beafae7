"""Whatever way a change is written, its rows are the same: a fixed core, and all areas of the way that
`SQLEXT_GOLDEN_STRATEGY` names."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from golden.strategies import AREAS, CORE, answers, recorded, run_as

ASKED_FOR = os.environ.get("SQLEXT_GOLDEN_STRATEGY")
RUNS = {*CORE, *((ASKED_FOR, area) for area in AREAS if ASKED_FOR is not None)}


@pytest.mark.parametrize(("strategy", "area"), sorted(RUNS))
def test_rows_are_those_recorded(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, strategy: str, area: str
) -> None:
    folder = tmp_path_factory.getbasetemp().resolve() / f"strategy_{strategy}"
    assert answers(run_as(spark, folder, strategy, area)) == answers(recorded(area))
