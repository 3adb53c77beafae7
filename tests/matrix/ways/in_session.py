"""Abilities in a session of Python: of its own JVM or of a Connect client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from matrix.ability import Ability
from matrix.attempts import Attempt


def attempts(spark: SparkSession, chosen: Iterable[Ability], folder: Path) -> Iterator[Attempt]:
    """One after the other; `folder` is where they may write, and need not be there."""
    for ability in chosen:
        yield _python(spark, ability, folder) if ability.is_python else _sql(spark, ability)


def _python(spark: SparkSession, ability: Ability, folder: Path) -> Attempt:
    try:
        return Attempt(ability.name, ability.answer()(spark, folder))
    except Exception as failure:
        return Attempt(ability.name, None, 0, _text(failure))


def _sql(spark: SparkSession, ability: Ability) -> Attempt:
    cell = None
    for number, statement in enumerate(ability.statements):
        try:
            rows = spark.sql(statement).collect()
            cell = " ".join(map(str, rows[0])) if rows and rows[0] else None
        except Exception as failure:
            return Attempt(ability.name, None, number, _text(failure))
    return Attempt(ability.name, cell)


def _text(failure: Exception) -> str:
    return f"{type(failure).__name__}: {failure}"
