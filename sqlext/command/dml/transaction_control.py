"""BEGIN, COMMIT, ROLLBACK and savepoints: the transaction of the session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.dml.contested_keys import ContestedKeys
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.spark.session.session_settings import mark_transaction, session_id, transaction_mark
from sqlext.sql.statements.transaction_statement import (
    BeginTransaction,
    CommitTransaction,
    ExplainCommit,
    ReleaseSavepoint,
    RollBackTransaction,
    SetSavepoint,
    TransactionStatement,
)


def control_transaction(environment: Environment, spark: SparkSession, statement: TransactionStatement) -> Outcome:
    """Runs the statement; no rows. Raises as `OpenTransactions` and `OpenTransaction`.

    ROLLBACK of a transaction that was lost does nothing more than end it.
    """
    transactions, session = environment.transactions, session_id(spark)
    mark = transaction_mark(spark)
    try:
        if not transactions.is_lost(mark):
            _control(environment, session, statement)
        elif statement != RollBackTransaction(savepoint=None):
            transactions.require_kept(mark)
    finally:
        mark_transaction(spark, transactions.mark(session) if transactions.is_open(session) else None)
    return Outcome()


def _control(environment: Environment, session: str, statement: TransactionStatement) -> None:
    transactions = environment.transactions
    match statement:
        case BeginTransaction(serializable):
            transactions.begin(session, serializable=serializable)
        case CommitTransaction():
            transactions.commit(session, ContestedKeys(environment.scans.manifests))
        case RollBackTransaction(savepoint=None):
            transactions.roll_back(session)
        case RollBackTransaction(savepoint=str(name)):
            transactions.current(session, "ROLLBACK TO").roll_back_to(name)
        case SetSavepoint(name):
            transactions.current(session, "SAVEPOINT").set_savepoint(name)
        case ReleaseSavepoint(name):
            transactions.current(session, "RELEASE").release(name)
        case ExplainCommit():
            raise ValueError("EXPLAIN COMMIT controls no transaction")
