"""Statements that begin and end a transaction, those of savepoints, and EXPLAIN COMMIT, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class BeginTransaction:
    """BEGIN."""

    serializable: bool = False


@dataclass(frozen=True, slots=True)
class CommitTransaction:
    """COMMIT."""


@dataclass(frozen=True, slots=True)
class RollBackTransaction:
    """ROLLBACK of the transaction, or to a savepoint."""

    savepoint: str | None = None


@dataclass(frozen=True, slots=True)
class SetSavepoint:
    """SAVEPOINT."""

    name: str


@dataclass(frozen=True, slots=True)
class ReleaseSavepoint:
    """RELEASE SAVEPOINT."""

    name: str


@dataclass(frozen=True, slots=True)
class ExplainCommit:
    """EXPLAIN COMMIT: why the last commit of the session was refused."""


TransactionStatement: TypeAlias = (
    BeginTransaction | CommitTransaction | RollBackTransaction | SetSavepoint | ReleaseSavepoint | ExplainCommit
)
