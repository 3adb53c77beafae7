"""The read set of a statement: the target rows that other commits may not have changed when it commits."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from sqlext.errors import FixedSource, StaleRead, ValidationConflict
from sqlext.spark.catalog.session_catalogs import TableVersion
from sqlext.spark.scan.read_tables import read_predicates, reads_other_versions, reads_snapshots
from sqlext.spec.expression import Predicate, disjunction


@dataclass(frozen=True, slots=True)
class ConflictScope:
    """Which concurrent changes of the target invalidate a statement.

    `added_by_key`: a row added by another commit conflicts only if its key equals one that this statement writes; if
    false, every added row that the statement's scan would have selected conflicts. `removed_if_changed`: a row removed
    by another commit conflicts only if this statement changed it too; if false, every removed row that its scan
    selected does. `keys_unique`: the statement fails if its commit would leave two rows with one key.
    """

    added_by_key: bool = False
    removed_if_changed: bool = True
    keys_unique: bool = False


SCANNED_ROWS = ConflictScope()
"""For statements each of whose changed rows depends on that row alone: rows that the scan would have selected
conflict."""


OWN_KEYS = ConflictScope(added_by_key=True, keys_unique=True)
"""For statements that write rows by key: rows with one of these keys conflict."""


@dataclass(frozen=True, slots=True)
class ReadSet:
    """The target rows whose change by another commit invalidates a statement, as predicates; None selects no rows.

    `added`: rows that another commit adds. `removed`: rows that another commit removes or replaces. `keys_unique`: an
    added row with the key of a row that this statement writes conflicts too.
    """

    added: Predicate | None = None
    removed: Predicate | None = None
    keys_unique: bool = False


OF_SOURCE = ConflictScope(removed_if_changed=False, keys_unique=True)
"""For writes by key whose query is their source, and no join with the target: its scans of the target, if there are
any, are reads of its own."""


def read_set_of(query: DataFrame, version: TableVersion, scope: ConflictScope, overtaken: StaleRead | None) -> ReadSet:
    """The read set of a statement, by the scans of its target in `query`, which computes its changes.

    If the target is scanned more than once, by a subquery or as the source, a row that any scan selects may affect
    every changed row. If Spark's optimiser has removed the scan, the read set is empty.

    Raises ValidationConflict for a rerun that also reads its target at another version: a source resolved before the
    statement began does not see the commit that it conflicted with (`overtaken`).
    """
    require_one_version(query, version, overtaken)
    predicates = read_predicates(query, version)
    if not predicates:
        return ReadSet(keys_unique=scope.keys_unique)
    read = disjunction(predicates)
    if len(predicates) > 1:
        return ReadSet(read, read, scope.keys_unique)
    return ReadSet(None if scope.added_by_key else read, None if scope.removed_if_changed else read, scope.keys_unique)


def require_one_version(query: DataFrame, version: TableVersion, overtaken: StaleRead | None) -> None:
    """Raises ValidationConflict for a rerun whose query reads the target at another version than this one, FixedSource
    if that is a snapshot."""
    if overtaken is None or not reads_other_versions(query, version):
        return
    raise overtaken.as_kind(FixedSource if reads_snapshots(query, version) else ValidationConflict)
