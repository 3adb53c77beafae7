"""Each input's statements give what its result file records; `python3 tests/golden/regenerate.py` rewrites those."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from golden.runner import INPUTS, RESULTS, area_names, result_path, run_area, split_statements

ROW_LEVEL = re.compile(r"\s*(WITH\b.*?\)\s*)?(MERGE|UPDATE|DELETE|UPSERT|INSERT\b.*\bON\s+CONFLICT)\b", re.I | re.S)
WHOLE_NAME_WITH_BRANCH = re.compile(r"\blake\.\w+\.\w+\.(branch_\w+)")


@pytest.mark.turns(48)
@pytest.mark.parametrize("area", area_names())
def test_statements_give_the_recorded_results(spark: SparkSession, warehouse: Path, area: str) -> None:
    assert run_area(spark, warehouse, area) == result_path(area).read_text()


def test_every_result_has_an_input() -> None:
    assert sorted(path.stem for path in RESULTS.glob("*.out")) == area_names()


def test_the_areas_hold_enough_statements() -> None:
    texts = [one.text for path in INPUTS.glob("*.sql") for one in split_statements(path.read_text())]
    assert len(texts) >= 1600
    assert sum(bool(ROW_LEVEL.match(text)) for text in texts) >= 400


def test_every_recorded_error_has_a_condition() -> None:
    """An untyped error in a result is a fault of the product that the golden files must not bless."""
    for path in RESULTS.rglob("*.out"):
        lines = path.read_text().splitlines()
        errors = [after for line, after in itertools.pairwise(lines) if line == "-- error"]
        assert [error for error in errors if not error.startswith("[")] == [], str(path)


def test_no_error_names_a_branch_that_the_statement_does_not() -> None:
    """A statement that sqlext carries out by another one, on a branch, names the table as its user did."""
    of_branches = 0
    for path in RESULTS.rglob("*.out"):
        for answer in path.read_text().split("\n\n"):
            statement, _, after = answer.partition("\n-- error\n")
            error = after.partition("\n")[0]
            named = {*WHOLE_NAME_WITH_BRANCH.findall(error)}
            of_branches += len(named)
            assert all(f".{branch}" in statement for branch in named), f"{path}: {error}"
    assert of_branches
