"""What EXPLAIN tells of a change: its plan in lines, and the query behind it."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Explanation:
    """`rows` are what the way starts from; they are not evaluated."""

    lines: tuple[str, ...]
    rows: DataFrame
