"""Transactions, in PostgreSQL's spelling. Spark runs a text that continues, such as a script's `BEGIN … END`.

{BEGIN [TRANSACTION | WORK] | START TRANSACTION} [ISOLATION LEVEL {SNAPSHOT | REPEATABLE READ | SERIALIZABLE}]
COMMIT [TRANSACTION | WORK]
ROLLBACK [TRANSACTION | WORK] [TO [SAVEPOINT] name]
SAVEPOINT name
RELEASE [SAVEPOINT] name
EXPLAIN COMMIT
"""

from __future__ import annotations

from sqlext.sql.statements.transaction_statement import (
    BeginTransaction,
    CommitTransaction,
    ExplainCommit,
    ReleaseSavepoint,
    RollBackTransaction,
    SetSavepoint,
    TransactionStatement,
)
from sqlext.sql.tokens.token_cursor import TokenCursor

TRANSACTION_HEADS = frozenset({"BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"})


def parse_transaction(cursor: TokenCursor) -> TransactionStatement | None:
    """The statement, if all of the text is one."""
    statement = _parsed(cursor)
    return statement if cursor.at_end else None


def _parsed(cursor: TokenCursor) -> TransactionStatement | None:
    if cursor.accept("START", "TRANSACTION"):
        return BeginTransaction(_is_serializable(cursor))
    if cursor.accept("BEGIN"):
        _skip_noise(cursor)
        return BeginTransaction(_is_serializable(cursor))
    if cursor.accept("EXPLAIN", "COMMIT"):
        return ExplainCommit()
    if cursor.accept("COMMIT"):
        _skip_noise(cursor)
        return CommitTransaction()
    if cursor.accept("ROLLBACK"):
        _skip_noise(cursor)
        if not cursor.accept("TO"):
            return RollBackTransaction()
        name = _savepoint(cursor)
        return None if name is None else RollBackTransaction(name)
    if cursor.accept("SAVEPOINT"):
        name = _name(cursor)
        return None if name is None else SetSavepoint(name)
    if cursor.accept("RELEASE"):
        name = _savepoint(cursor)
        return None if name is None else ReleaseSavepoint(name)
    return None


def _is_serializable(cursor: TokenCursor) -> bool:
    """Whether the isolation level, if one comes next, is SERIALIZABLE; PostgreSQL calls SNAPSHOT REPEATABLE READ."""
    if not cursor.accept("ISOLATION", "LEVEL"):
        return False
    if cursor.accept("SERIALIZABLE"):
        return True
    if not cursor.accept("SNAPSHOT") and not cursor.accept("REPEATABLE", "READ"):
        cursor.fail("SERIALIZABLE, SNAPSHOT or REPEATABLE READ")
    return False


def _skip_noise(cursor: TokenCursor) -> None:
    if not cursor.accept("TRANSACTION"):
        cursor.accept("WORK")


def _savepoint(cursor: TokenCursor) -> str | None:
    """`[SAVEPOINT] name`; None where there is no name."""
    if cursor.peek(1).kind in ("word", "quoted"):
        cursor.accept("SAVEPOINT")
    return _name(cursor)


def _name(cursor: TokenCursor) -> str | None:
    return cursor.name() if cursor.peek().kind in ("word", "quoted") else None
