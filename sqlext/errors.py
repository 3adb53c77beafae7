"""Every error sqlext raises: one class per outcome.

    SqlextError
    ├── ParseError             the statement's text is not understood
    ├── AnalysisError          names, types or options do not fit
    ├── NotFoundError          a table, namespace, column or snapshot is not there
    ├── AlreadyExistsError     something of that name is there
    ├── UnsupportedError       understood, and refused
    ├── DataError              a row breaks a rule of the table
    ├── StorageError           the store refused or ran out of room
    ├── CorruptionError        a file of the table cannot be read as what it should be
    ├── CommitConflict         lost the race for the metadata pointer; retried
    ├── ValidationConflict     another commit changed what this one read; stop
    └── CommitStateUnknown     a change was sent, and may have happened or may yet; nothing may be deleted

Users match on `condition`, a key of `error_conditions.CONDITIONS`, programs on `parameters`.
"""

from __future__ import annotations

from typing import Any

from sqlext.error_conditions import CONDITIONS


class SqlextError(Exception):
    """Root of all errors; `condition` is a key of `CONDITIONS`, `parameters` fill its template."""

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
    """A table, namespace, column, snapshot or file is not there."""


class AlreadyExistsError(SqlextError):
    """Something of that name is there already."""


class UnsupportedError(SqlextError):
    """The request is understood and refused."""


class DataError(SqlextError):
    """A row breaks a rule of the table; nothing was committed."""


class StorageError(SqlextError):
    """The store refused, or ran out of room; nothing was committed."""


class CorruptionError(SqlextError):
    """A file of the table cannot be read as what it should be."""


class CommitConflict(SqlextError):
    """The compare-and-swap was lost to another writer; the commit loop retries it."""


class ValidationConflict(SqlextError):
    """Another commit changed what this statement read; it must be run again from the start."""


class StaleRead(ValidationConflict):
    """Rows that the statement read are no more what they were: it may be run again by itself."""


class CommitStateUnknown(SqlextError):
    """A change was sent, and may have happened or may yet: no file of it may be deleted.

    `refusal` is what the catalog has said, where it has said no: the error of the change once it is known that it has
    not happened. None: there was no answer, or none that can be read.
    """

    def __init__(self, condition: str, *, refusal: SqlextError | None = None, **parameters: Any) -> None:
        super().__init__(condition, **parameters)
        self.refusal = refusal


def unsettled(error: SqlextError) -> CommitStateUnknown:
    """An error of the same condition: the change was sent, and whether it lands is unknown."""
    if isinstance(error, CommitStateUnknown):
        return error
    parameters: dict[str, Any] = dict(error.parameters)
    return CommitStateUnknown(error.condition, **parameters)
