"""The values of identity columns that a statement is to give: behind those of its table, or reserved ones."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.environment import Environment
from sqlext.commit.state.identity_change import ReserveIdentities
from sqlext.errors import IdentitiesTaken, StaleRead
from sqlext.scan.identity_bounds import examined_marks
from sqlext.spec.identity_column import MARK_PREFIX, IdentityMark


def identities_to_give(environment: Environment, catalog_name: str, table: LoadedTable) -> Mapping[str, str]:
    """The properties with the state from which a statement gives values: that of the table, or what is before the
    values that are reserved for its rerun."""
    io = environment.catalogs.catalog(catalog_name).io
    marks = dict(examined_marks(io, environment.scans.manifests, table.metadata))
    reserved = {} if environment.overtaken is None else environment.overtaken.reserved
    for id in marks.keys() & reserved.keys():
        marks[id] = IdentityMark(reserved[id], marks[id].seen)
    return {f"{MARK_PREFIX}{id}": mark.encode() for id, mark in marks.items()}


def reserved_identities(
    environment: Environment, catalog_name: str, table: LoadedTable, conflict: StaleRead
) -> Mapping[int, int]:
    """What is before the values that are reserved for a statement, by field id of the columns.

    A statement that lost a race for values reserves as many as it had given, and does not lose another. It cannot
    where the catalog does not compare properties; there it may lose again.
    """
    catalog = environment.catalogs.catalog(catalog_name)
    if not isinstance(conflict, IdentitiesTaken) or not catalog.compares_properties or environment.is_in_transaction:
        return {}
    examined = examined_marks(catalog.io, environment.scans.manifests, table.metadata)
    before: dict[int, int] = {}

    def staged(reserved: Mapping[int, int]) -> None:
        before.clear()
        before.update(reserved)

    reserve = ReserveIdentities(conflict.needed, {id: mark.value for id, mark in examined.items()}, staged)
    environment.commit(catalog_name, table, reserve)
    return before
