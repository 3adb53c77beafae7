"""The values of identity columns that a statement is to give: behind those of its table, or reserved ones."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.environment import Environment
from sqlext.commit.state.identity_change import ReserveIdentities
from sqlext.errors import IdentitiesTaken
from sqlext.scan.identity_bounds import examined_marks, live_identities
from sqlext.spec.identity_column import MARK_PREFIX, IdentityMark


def identities_to_give(
    environment: Environment, catalog_name: str, table: LoadedTable
) -> tuple[LoadedTable, Mapping[str, str]]:
    """The version of the table to write to, and the properties with the state from which values are given.

    A statement that lost a race for values reserves as many as it had given, and does not lose another. It cannot
    where the catalog does not compare properties; there it may lose again.
    """
    catalog = environment.catalogs.catalog(catalog_name)
    examined = examined_marks(catalog.io, environment.scans.manifests, table.metadata)
    conflict = None if environment.overtaken is None else environment.overtaken.conflict
    is_taken = isinstance(conflict, IdentitiesTaken) and catalog.compares_properties
    if not examined or not is_taken or environment.is_in_transaction:
        return table, {name: mark.encode() for name, mark in _named(examined).items()}
    assert isinstance(conflict, IdentitiesTaken)
    last: dict[int, int] = {}

    def staged(values: Mapping[int, int]) -> None:
        last.clear()
        last.update(values)

    reserve = ReserveIdentities(conflict.needed, {id: mark.value for id, mark in examined.items()}, staged)
    reserved = environment.commit(catalog_name, table, reserve).table
    columns = live_identities(reserved.metadata)
    marks = dict(examined)
    for id, value in last.items():
        marks[id] = IdentityMark(value - conflict.needed[id] * columns[id].step, examined[id].seen)
    return reserved, {name: mark.encode() for name, mark in _named(marks).items()}


def _named(marks: Mapping[int, IdentityMark]) -> Mapping[str, IdentityMark]:
    return {f"{MARK_PREFIX}{id}": mark for id, mark in marks.items()}
