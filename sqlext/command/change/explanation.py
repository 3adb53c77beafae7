"""What EXPLAIN tells of a change: the way it would be written, why, and the query behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.auto import auto, expected
from sqlext.command.change.row_level import Target
from sqlext.command.change.strategy import Choice, change_query
from sqlext.command.environment import Environment


@dataclass(frozen=True, slots=True)
class Explanation:
    """`rows` are what the way starts from; they are not evaluated."""

    name: str
    reason: str
    rows: DataFrame


def explained(environment: Environment, spark: SparkSession, target: Target, choice: Choice) -> Explanation:
    """Of a choice; what `auto` would come to is looked up."""
    if choice.run is auto:
        choice = expected(environment, spark, target, choice)
    elif choice.weighed is not None:
        found = expected(environment, spark, target, choice.weighed)
        marks = found.name == "merge-on-read"
        choice = replace(found, name=choice.name, reason=f"{found.reason}; {choice.reason}") if marks else found
    return Explanation(choice.name, choice.reason, change_query(spark, choice.change))
