"""`sqlext fsck`: what is wrong with a table, or with all tables of a catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module

from sqlext.catalog.catalog import Catalog, all_tables, all_views
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.answer import Repairing
from sqlext.command.doctor.examination import examine, examine_version
from sqlext.command.doctor.view_consultation import consult_view
from sqlext.errors import AnalysisError
from sqlext.scan.checks.finding import Finding, Severity
from sqlext.terminal.named_catalog import NamedCatalog, is_place
from sqlext.terminal.output import print_json, print_line, print_rows
from sqlext.terminal.read_state import state_of

_COLUMNS = ("table", "severity", "check", "object", "snapshot", "found", "expected", "repair")


def print_examination(named: NamedCatalog, table: str | None, *, data_files: bool, repair: bool, as_json: bool) -> bool:
    """Examines one table, or all of the catalog, and with `repair` mends what loses no more than is lost. Returns
    whether all is well: nothing was found but notices. Raises as `examine` and `consult`."""
    if repair:
        # What writes needs the packages of a driver, whose import takes longer than a look.
        mended = import_module("sqlext.terminal.mended_table")
        rows = list(mended.repaired(named, table, data_files=data_files))
    else:
        rows = [_row(name, one, "") for name, one in _findings(named, table, data_files)]
    if as_json:
        print_json([dict(zip(_COLUMNS, row, strict=True)) for row in rows])
    elif rows:
        columns = _COLUMNS if repair else _COLUMNS[:-1]
        print_rows(columns, [row[: len(columns)] for row in rows], right=("snapshot",))
        if not repair:
            print_line("sqlext fsck TABLE --repair mends what can be mended", "dim")
    else:
        print_line("nothing is wrong")
    return all(row[1] == Severity.NOTICE.value for row in rows)


def _findings(named: NamedCatalog, table: str | None, data_files: bool) -> Iterator[tuple[str, Finding]]:
    if table is not None and is_place(table):
        state = state_of(named.table(table))
        found = examine_version(state.io, state.metadata, state.location, data_files=data_files)
        yield from ((table, one) for one in found.findings)
        return
    for identifier in examined(named, table):
        yield from ((str(identifier), one) for one in _of_name(named.catalog, identifier, data_files))


def _of_name(catalog: Catalog, identifier: TableIdentifier, data_files: bool) -> Sequence[Finding]:
    try:
        return examine(catalog, identifier, data_files=data_files).findings
    except AnalysisError as refused:
        if refused.condition != "EXPECT_TABLE_NOT_VIEW":
            raise
        return [answer.finding for answer in consult_view(catalog, identifier, Repairing.NOTHING)]


def examined(named: NamedCatalog, table: str | None) -> Iterator[TableIdentifier]:
    """The table or view, or all of the catalog."""
    if table is not None:
        yield named.identifier(table)
    else:
        yield from all_tables(named.catalog)
        yield from all_views(named.catalog)


def _row(name: str, one: Finding, repair: str) -> Sequence[object]:
    return (name, one.severity.value, one.check.value, one.path, one.snapshot_id, one.found, one.expected, repair)
