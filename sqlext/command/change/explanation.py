"""The answer to EXPLAIN of a change: the lines of its plan, and the query that Spark explains."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Explanation:
    """`lines` of the plan, and `rows`, the query that it starts from, which is not evaluated."""

    lines: tuple[str, ...]
    rows: DataFrame
