"""The results recorded of row-level statements, beside those of Iceberg's runtime over tables of its own.

Rows of queries are the same, and what one refuses the other does. A comment over a statement that begins with "Iceberg
refuses" says why it differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from golden.runner import recorded_rows
from judges.iceberg import IcebergJudge, JudgeError

AREAS = (
    "delete_subqueries",
    "merge_errors",
    "merge_names",
    "merge_nested",
    "merge_partitions",
    "merge_subqueries",
    "merge_values",
    "update_nested",
    "update_subqueries",
)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergJudge]:
    judge = IcebergJudge(Path(tmp_path_factory.mktemp("theirs")).resolve())
    yield judge
    judge.close()


@pytest.mark.turns(2)
@pytest.mark.parametrize("area", AREAS)
def test_iceberg_gives_the_recorded_results(judge: IcebergJudge, area: str) -> None:
    judge.sql(f"CREATE NAMESPACE lake.{area}")
    judge.sql(f"USE lake.{area}")
    for statement, rows in recorded_rows(area):
        theirs = answer(judge, statement.text)
        alone = any(line.startswith("Iceberg refuses") for line in statement.title)
        assert (theirs is None) == (rows is None or alone), statement.text
        if theirs is not None and statement.text.startswith("SELECT"):
            assert theirs == rows, statement.text


def answer(judge: IcebergJudge, statement: str) -> list[list[object]] | None:
    """The judge's rows, None for an error."""
    try:
        return judge.sql(statement)
    except JudgeError:
        return None
