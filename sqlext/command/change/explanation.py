"""The answer to EXPLAIN of a change: its plan, and the query that Spark explains."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from sqlext.command.change.row_change import RowChange
from sqlext.command.change.row_level import Target
from sqlext.command.plan.change_plan import ChangePlan
from sqlext.spec.expression import Predicate


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plan of a change of `target`, and `rows`, the query that it starts from, which is not evaluated.

    `change` is that of a plan that computes the changed rows by one SELECT, which is `rows` then. `expected_rows`: how
    many rows it probably writes or deletes, by statistics; None if unknown. `replaced` selects the rows that an
    overwrite of a partition removes. `source`, in words: who reads the files of the query if tasks write its rows.
    """

    target: Target
    plan: ChangePlan
    rows: DataFrame
    change: RowChange | None = None
    expected_rows: int | None = None
    replaced: Predicate | None = None
    source: str | None = None
