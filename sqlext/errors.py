"""Every error sqlext raises: one class per outcome, one table row per condition.

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
    └── CommitStateUnknown     the store gave no answer; nothing may be deleted

A message says what was refused, why, and the way out. Users match on `condition`, programs on `parameters`; the
wording is free to change. Conditions that Spark itself has keep Spark's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Condition:
    """SQLSTATE and message template of one error condition."""

    sqlstate: str
    template: str


CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        # names and objects
        "INVALID_NAME": Condition(
            "42602", "The name {name} is refused: {reason}. Use letters, digits, '_', '-' or '.' inside a name."
        ),
        "SCHEMA_NOT_FOUND": Condition(
            "42704", "The namespace {name} cannot be found. Create it with CREATE NAMESPACE {name}, or check the spelling."
        ),
        "TABLE_OR_VIEW_ALREADY_EXISTS": Condition(
            "42P07", "The table {name} already exists. Use IF NOT EXISTS, another name, or drop it first."
        ),
        "TABLE_OR_VIEW_NOT_FOUND": Condition(
            "42P01", "The table {name} cannot be found. Check the spelling and the current catalog and namespace."
        ),
        # storage
        "CORRUPT_FILE": Condition(
            "XX001", "The file {path} cannot be read as {kind}: {reason}. Restore it from a backup or an earlier version."
        ),
        "FILE_NOT_FOUND": Condition(
            "58030", "The file {path} ({kind}) does not exist. Restore it, or read an earlier snapshot of the table."
        ),
        "STORAGE_FAILURE": Condition(
            "58030", "{operation} of {path} failed: {reason}. Nothing was committed; mend the store and run it again."
        ),
        # commit
        "COMMIT_CONFLICT": Condition(
            "40001", "The commit to {name} lost the race: {reason}. Run the statement again."
        ),
        "COMMIT_STATE_UNKNOWN": Condition(
            "08007",
            "Whether the commit to {name} happened is unknown: {reason}. No file was deleted; look for commit id"
            " {commit_id} in {name}.snapshots before you run it again.",
        ),
    }
)


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


class CommitStateUnknown(SqlextError):
    """The store gave no answer to the compare-and-swap: no file of the commit may be deleted."""
