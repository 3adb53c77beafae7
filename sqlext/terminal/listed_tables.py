"""`sqlext tables`: the tables and views of a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlext.catalog.catalog import Catalog
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.description.table_facts import bytes_told, count_told
from sqlext.errors import SqlextError
from sqlext.spec.iso_date_time import moment
from sqlext.terminal.named_catalog import NamedCatalog
from sqlext.terminal.output import print_json, print_line, print_rows

_TABLE, _VIEW = "table", "view"
_COLUMNS = ("name", "kind", "version", "snapshots", "rows", "size", "last commit")


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table or view; of a table also what its newest snapshot's summary tells. `error` says why there is nothing."""

    name: str
    kind: str
    format_version: int | None = None
    snapshots: int | None = None
    rows: int | None = None
    bytes: int | None = None
    updated_at: str | None = None
    error: str | None = None


def print_tables(named: NamedCatalog, namespace: Namespace, *, details: bool, as_json: bool) -> None:
    """The tables and views in a namespace and below it. Raises NotFoundError SCHEMA_NOT_FOUND."""
    catalog = named.catalog
    found = [_listed(catalog, identifier, kind, details) for identifier, kind in _members(catalog, namespace)]
    if as_json:
        keys = ListedTable.__slots__ if details else ("name", "kind")
        print_json([{key: getattr(one, key) for key in keys} for one in found])
        return
    if not found:
        others = named.others
        known = f" under the name {named.name}, but under {', '.join(others)}: choose by --name" if others else ""
        print_line(f"no tables{known}")
        return
    if not details:
        print_rows(("name", "kind"), [(one.name, one.kind) for one in found])
        return
    rows = [
        (
            one.name,
            one.kind,
            one.format_version,
            count_told(one.snapshots),
            count_told(one.rows),
            bytes_told(one.bytes),
            one.error or one.updated_at,
        )
        for one in found
    ]
    print_rows(_COLUMNS, rows, right=("version", "snapshots", "rows", "size"))


def _members(catalog: Catalog, namespace: Namespace) -> Iterator[tuple[TableIdentifier, str]]:
    if namespace:
        members = [(one, _TABLE) for one in catalog.list_tables(namespace)]
        members += [(one, _VIEW) for one in catalog.views.list_views(namespace)]
        yield from sorted(members, key=lambda member: member[0].name)
    for child in catalog.list_namespaces(namespace):
        yield from _members(catalog, child)


def _listed(catalog: Catalog, identifier: TableIdentifier, kind: str, details: bool) -> ListedTable:
    name = str(identifier)
    if kind == _VIEW or not details:
        return ListedTable(name, kind)
    try:
        metadata = catalog.load_table(identifier).metadata
    except SqlextError as error:
        # One damaged table does not keep the others from being listed.
        return ListedTable(name, kind, error=f"{error.condition}: {error.message}")
    newest = metadata.current_snapshot()
    summary = {} if newest is None else newest.summary
    rows, size = summary.get("total-records", ""), summary.get("total-files-size", "")
    return ListedTable(
        name,
        kind,
        metadata.format_version,
        len(metadata.snapshots),
        int(rows) if rows.isdecimal() else None,
        int(size) if size.isdecimal() else None,
        moment(metadata.last_updated_ms),
    )
