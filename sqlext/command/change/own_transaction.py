"""A statement in a transaction of its own, which runs again if another commit to its table came first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from pyspark.sql import SparkSession

from sqlext.command.change.rerun import run_with_reruns
from sqlext.command.change.row_level import load_target, may_rerun
from sqlext.command.environment import Environment
from sqlext.errors import StaleRead, ValidationConflict
from sqlext.sql.statements.statement import TableName

T = TypeVar("T")
_CONFLICT = "TRANSACTION_CONFLICT"
_SAVEPOINT = "sqlext_statement"


def in_own_transaction(
    environment: Environment, spark: SparkSession, table: TableName, run: Callable[[Environment], T]
) -> T:
    """The result of `run`, whose commits to `table` land as one; in an open transaction they stay uncommitted.

    An error of `run` leaves the table as it was. Raises ValidationConflict TRANSACTION_CONFLICT after
    `write.conflict.max-reruns` conflicts.
    """
    transaction = environment.catalogs.transaction
    if transaction is None:
        return run_with_reruns(environment, table.parts, lambda now: _committed(now, spark, table, run))
    transaction.set_savepoint(_SAVEPOINT)
    try:
        result = run(environment)
    except BaseException:
        transaction.roll_back_to(_SAVEPOINT)
        transaction.release(_SAVEPOINT)
        raise
    transaction.release(_SAVEPOINT)
    return result


def _committed(environment: Environment, spark: SparkSession, table: TableName, run: Callable[[Environment], T]) -> T:
    """The result, once it is committed. Raises StaleRead if the statement is to run again."""
    if environment.batch is not None:
        environment = replace(environment, batch=replace(environment.batch, is_recorded=False))
    try:
        with environment.transactions.of_statement() as transaction:
            return run(replace(environment, catalogs=environment.catalogs.within(transaction)))
    except ValidationConflict as conflict:
        target = load_target(replace(environment, batch=None), spark, table)
        if conflict.condition != _CONFLICT or not may_rerun(environment, target):
            raise
        raise conflict.as_kind(StaleRead) from conflict
