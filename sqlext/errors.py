"""Every error sqlext raises: one class per outcome.

    SqlextError
    ├── ParseError             the statement's text is not understood
    ├── AnalysisError          names, types or options do not fit
    ├── NotFoundError          a table, namespace, column, snapshot or file does not exist
    ├── AlreadyExistsError     the name is taken
    ├── UnsupportedError       understood, and refused
    ├── DataError              a row breaks a rule of the table
    ├── StorageError           the store refused or ran out of room
    ├── CorruptionError        a file of the table is damaged or not of its format
    ├── CommitConflict         another writer swapped the metadata pointer first; retried
    ├── ValidationConflict     another commit changed the read set; not retried
    └── CommitStateUnknown     a change was sent and its outcome is unknown; nothing may be deleted

Users match on `condition`, a key of `error_conditions.CONDITIONS`, programs on `parameters`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlext.error_conditions import CONDITIONS

__all__ = [
    "AlreadyExistsError",
    "AnalysisError",
    "BatchRanBefore",
    "CommitConflict",
    "CommitStateUnknown",
    "Contender",
    "CorruptionError",
    "DataError",
    "NotFoundError",
    "ParseError",
    "SqlextError",
    "StaleRead",
    "StorageError",
    "UnsupportedError",
    "ValidationConflict",
]


def __dir__() -> list[str]:
    return sorted(__all__)


@dataclass(frozen=True, slots=True)
class Contender:
    """The commit of another writer that refused one: its snapshot, and what of it was in the way.

    `planned_on` is the id of the snapshot that the refused change was planned on, None if the branch had none.
    `committed_ms` is in milliseconds since 1970. `author` has the entries of the snapshot's summary that tell who
    committed it. `files` are paths of data and delete files that were in the way, and `keys` keys of rows as JSON;
    both have the first ones if they are many, and are empty if unknown.
    """

    planned_on: int | None
    snapshot_id: int
    operation: str | None
    committed_ms: int
    author: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


class SqlextError(Exception):
    """Root of all errors; `condition` is a key of `CONDITIONS`, `parameters` fill its template.

    Functions of sqlext raise it. What `spark.sql` and DataFrames run passes through Spark's JVM or Connect's server,
    and is one of PySpark's exceptions then, with the same condition and SQLSTATE:

        >>> from pyspark.errors import PySparkException
        >>> try:
        ...     spark.sql("ALTER TABLE lake.db.orders ADD PRIMARY KEY (order_id)")
        ... except PySparkException as error:
        ...     print(error.getCondition(), error.getSqlState())
        INVALID_PRIMARY_KEY 42830

        >>> try:
        ...     with sqlext.transaction(spark, "no_such_catalog"):
        ...         pass
        ... except sqlext.SqlextError as error:
        ...     print(error.condition, error.parameters)
        CATALOG_NOT_FOUND {'name': 'no_such_catalog'}
    """

    def __init__(self, condition: str, **parameters: Any) -> None:
        self.condition = condition
        self.sqlstate = CONDITIONS[condition].sqlstate
        self.parameters: dict[str, str] = {name: str(value) for name, value in parameters.items()}
        self.message = CONDITIONS[condition].template.format(**self.parameters)
        super().__init__(f"[{condition}] {self.message} SQLSTATE: {self.sqlstate}")


class ParseError(SqlextError):
    """The statement's text is not understood."""


class AnalysisError(SqlextError):
    """Names, types or options of a statement do not fit each other or the table."""


class NotFoundError(SqlextError):
    """A table, namespace, column, snapshot or file does not exist."""


class AlreadyExistsError(SqlextError):
    """The name is taken."""


class UnsupportedError(SqlextError):
    """The request is understood and refused."""


class DataError(SqlextError):
    """A row breaks a rule of the table; nothing was committed."""


class StorageError(SqlextError):
    """The store refused, or ran out of room; nothing was committed."""


class CorruptionError(SqlextError):
    """A file of the table is damaged or not of its format."""


class CommitConflict(SqlextError):
    """The compare-and-swap was lost to another writer; the commit loop retries it."""


V = TypeVar("V", bound="ValidationConflict")


class ValidationConflict(SqlextError):
    """Another commit changed what the statement read; a retry must run the statement from its start.

    `contender` is that commit; None if it is not known.
    """

    def __init__(self, condition: str, *, contender: Contender | None = None, **parameters: Any) -> None:
        super().__init__(condition, **parameters)
        self.contender = contender

    def as_kind(self, kind: type[V]) -> V:
        """A copy of the conflict that is an error of `kind`."""
        parameters: dict[str, Any] = dict(self.parameters)
        return kind(self.condition, contender=self.contender, **parameters)


class StaleRead(ValidationConflict):
    """Another commit changed rows of the read set; sqlext may rerun the statement without the user."""


class IdentitiesTaken(StaleRead):
    """Another commit gave values to an identity column that a statement has given too; `needed` has how many of them it
    takes, by field id."""

    def __init__(self, condition: str, *, needed: Mapping[int, int] | None = None, **parameters: Any) -> None:
        super().__init__(condition, **parameters)
        self.needed = needed or {}


class FixedSource(ValidationConflict):
    """The statement is not run again after a conflict: its source reads a snapshot of the target, and would again."""


class BatchRanBefore(ValidationConflict):
    """The table has the batch of the statement, which is therefore skipped; the user sees a success."""


class CommitStateUnknown(SqlextError):
    """A change was sent and may have happened, or may yet happen: none of its files may be deleted.

    `refusal` is the error that the catalog answered, to be raised once the change is known not to have happened; None
    without a readable answer.
    """

    def __init__(self, condition: str, *, refusal: SqlextError | None = None, **parameters: Any) -> None:
        super().__init__(condition, **parameters)
        self.refusal = refusal


def as_state_unknown(error: SqlextError) -> CommitStateUnknown:
    """`error` as a CommitStateUnknown of its condition and parameters."""
    if isinstance(error, CommitStateUnknown):
        return error
    parameters: dict[str, Any] = dict(error.parameters)
    return CommitStateUnknown(error.condition, **parameters)


class OnlyByQuery(Exception):
    """A data file that only Spark reads: it has a column of a type that is not projected without Spark, or none with a
    field id. The argument is its path. It is no error of a statement, and is never shown."""
