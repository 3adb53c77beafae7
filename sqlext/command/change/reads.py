"""What a statement read of its target, which other commits may not have changed when it commits."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from sqlext.errors import StaleRead, ValidationConflict
from sqlext.spark.catalog.catalogs import TableVersion
from sqlext.spark.scan.read_tables import read_predicates, reads_other_versions
from sqlext.spec.expression import Predicate, disjunction


@dataclass(frozen=True, slots=True)
class Reach:
    """Which rows of the target matter to what a statement does to a row.

    `by_key`: of rows that may come in, those with the key of a row that it writes. `alone`: of rows that may go, only
    those it changes. `unique_key`: it writes no row whose key another has.
    """

    by_key: bool = False
    alone: bool = True
    unique_key: bool = False


ITS_SCAN = Reach()
"""The rows that its scan of the target selects, each by itself."""


OWN_KEYS = Reach(by_key=True, unique_key=True)
"""The rows of the keys that it writes."""


@dataclass(frozen=True, slots=True)
class Reads:
    """The rows that would have mattered had they come (`coming`) or gone (`going`) before; None for none.

    `unique_key`: nor may a row have come with the key of one that is written.
    """

    coming: Predicate | None = None
    going: Predicate | None = None
    unique_key: bool = False


def reads_of(query: DataFrame, version: TableVersion, reach: Reach, overtaken: StaleRead | None) -> Reads:
    """What the query of a statement's changes read of its target.

    Where the target is scanned more than once (by a subquery, or as the source), all that is read may matter to any
    row. Where it is not scanned at all, Spark has found that no row of it matters.

    A statement that runs again ends with what it was `overtaken` by, a ValidationConflict, where it reads its target at
    another version too: a source that was resolved before it began does not see what the conflict was about.
    """
    if overtaken is not None and reads_other_versions(query, version):
        raise ValidationConflict(overtaken.condition, **overtaken.parameters)
    predicates = read_predicates(query, version)
    if not predicates:
        return Reads(unique_key=reach.unique_key)
    read = disjunction(predicates)
    if len(predicates) > 1:
        return Reads(read, read, reach.unique_key)
    return Reads(None if reach.by_key else read, None if reach.alone else read, reach.unique_key)
