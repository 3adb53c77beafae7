"""Bugs of catalogs in databases that the simulator must find, each as a patch of one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from simulator.planted.commits import token_is_not_looked_for, validates_the_first_attempt_only
from sqlext.catalog.metadata_pointer import MetadataFiles
from sqlext.catalog.sql.database import NoAnswer, SqliteDatabase, answered
from sqlext.catalog.sql.records import CatalogRecords
from sqlext.catalog.sql.sql_catalog import SqlCatalog
from sqlext.errors import CommitConflict, CommitStateUnknown, StorageError

Patch = AbstractContextManager[Any]


def _swaps_without_a_look() -> Patch:
    swapping = CatalogRecords._swapping

    def planted(self: Any, identifier: Any, before: Any, after: Any) -> Any:
        statement, values = swapping(self, identifier, before, after)
        return statement.replace("AND metadata_location = ?", "AND ? IS NOT NULL"), values

    return patch.object(CatalogRecords, "_swapping", planted)


def _makes_a_table_that_is_there() -> Patch:
    insertion = CatalogRecords._insertion

    def planted(self: Any, identifier: Any, record: Any) -> Any:
        statement, values = insertion(self, identifier, record)
        return statement.replace("INSERT INTO", "INSERT OR REPLACE INTO"), values

    return patch.object(CatalogRecords, "_insertion", planted)


def _a_swap_that_lost_counts_as_landed() -> Patch:
    swap = CatalogRecords.swap
    return patch.object(CatalogRecords, "swap", lambda *given: swap(*given) or True)


def _a_commit_without_an_answer_counts_as_refused() -> Patch:
    change = SqliteDatabase.change

    def planted(self: Any, *steps: Any, **given: Any) -> Any:
        try:
            return change(self, *steps, **given)
        except NoAnswer:
            raise StorageError("CATALOG_FAILURE", name="lake", reason="no answer") from None

    return patch.object(SqliteDatabase, "change", planted)


def _discards_what_may_have_landed() -> Patch:
    def planted(self: Any, identifier: Any, location: str, change: Callable[[], object]) -> object:
        try:
            with answered(str(identifier)):
                return change()
        except (CommitStateUnknown, CommitConflict):
            self._files.discard(location)
            raise

    return patch.object(SqlCatalog, "_settled", planted)


def _trims_the_current_file() -> Patch:
    def planted(self: Any, before: Any, after: Any, pointers: Any) -> None:
        self.discard(pointers[-1])

    return patch.object(MetadataFiles, "trim", planted)


BUGS_OF_DATABASES: Mapping[str, Callable[[], Patch]] = {
    "a pointer is swapped whatever it was": _swaps_without_a_look,
    "a table is made in the place of another": _makes_a_table_that_is_there,
    "a swap that lost its race counts as landed": _a_swap_that_lost_counts_as_landed,
    "a commit without an answer counts as refused": _a_commit_without_an_answer_counts_as_refused,
    "a metadata file is deleted when the outcome is unknown": _discards_what_may_have_landed,
    "the current metadata file is trimmed": _trims_the_current_file,
    "the token of a commit without an answer is not looked for": token_is_not_looked_for,
    "a retry is not validated": validates_the_first_attempt_only,
}
"""As `BUGS`, where the catalog is in a database."""
