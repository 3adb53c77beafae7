"""A statement in a transaction of its own, which runs again if another commit to its table came first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from pyspark.sql import SparkSession

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.command.change.rerun import run_with_reruns
from sqlext.command.change.row_level import load_target, may_rerun
from sqlext.command.environment import Environment, StatementCommit
from sqlext.errors import StaleRead, ValidationConflict
from sqlext.sql.statements.statement import TableName

T = TypeVar("T")
_CONFLICT = "TRANSACTION_CONFLICT"
_SAVEPOINT = "sqlext_statement"


def in_own_transaction(
    environment: Environment,
    spark: SparkSession,
    table: TableName,
    run: Callable[[Environment], T],
    *,
    appends_again: bool = False,
) -> T:
    """The result of `run`, whose commits to `table` land as one; in an open transaction they stay uncommitted.

    An error of `run` leaves the table as it was. With `appends_again` a statement that has only appended rows is not
    run again: its files are committed again to the newest version, whatever others have committed. Raises
    ValidationConflict TRANSACTION_CONFLICT if no reruns are left.
    """
    transaction = environment.catalogs.transaction
    if transaction is None:
        statement = _Statement(spark, table, appends_again)
        return run_with_reruns(environment, table.parts, lambda now: statement.committed(now, run))
    transaction.set_savepoint(_SAVEPOINT)
    try:
        result = run(environment)
    except BaseException:
        transaction.roll_back_to(_SAVEPOINT)
        transaction.release(_SAVEPOINT)
        raise
    transaction.release(_SAVEPOINT)
    return result


class _Statement:
    def __init__(self, spark: SparkSession, table: TableName, appends_again: bool) -> None:
        self._spark = spark
        self._table = table
        self._appends_again = appends_again

    def committed(self, environment: Environment, run: Callable[[Environment], T]) -> T:
        """The result, once it is committed. Raises StaleRead if the statement is to run again."""
        if environment.batch is not None:
            environment = replace(environment, batch=replace(environment.batch, is_recorded=False))
        commits: list[StatementCommit] = []

        def commit(transaction: OpenTransaction) -> None:
            _, loaded = environment.catalogs.locate(self._table.parts)
            with environment.in_turn(loaded):
                transaction.commit(self._again(environment, commits))

        try:
            with environment.transactions.of_statement(commit) as transaction:
                within = environment.catalogs.within(transaction)
                return run(replace(environment, catalogs=within, committed=commits.append))
        except ValidationConflict as conflict:
            if conflict.condition != _CONFLICT and not isinstance(conflict, StaleRead):
                raise
            target = load_target(replace(environment, batch=None), self._spark, self._table)
            may_run_again = may_rerun(environment, target)
            if isinstance(conflict, StaleRead) and may_run_again:
                raise
            raise conflict.as_kind(StaleRead if may_run_again else ValidationConflict) from conflict

    def _again(self, environment: Environment, commits: list[StatementCommit]) -> Callable[[], LoadedTable] | None:
        if not self._appends_again or len(commits) != 1 or not commits[0].is_append:
            return None
        (one,) = commits

        def again() -> LoadedTable:
            try:
                return environment.commit_in_turn(one.catalog, one.table, one.action, one.destination).table
            except StaleRead:
                raise
            except ValidationConflict as conflict:
                # Such as of another schema, or of a batch that ran: the statement finds that out.
                raise conflict.as_kind(StaleRead) from conflict

        return again
