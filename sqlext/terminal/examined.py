"""`sqlext fsck`: what is wrong with a table, or with all tables of a catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module

from sqlext.catalog.catalog import all_tables
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.data_file_checks import data_file_findings
from sqlext.command.doctor.examination import examine
from sqlext.scan.checks.finding import Finding, Severity
from sqlext.scan.checks.table_checks import check_table
from sqlext.terminal.named_catalog import NamedCatalog, is_place
from sqlext.terminal.output import print_json, print_line, print_rows

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
        state = named.table(table).state()
        found = list(check_table(state.io, state.metadata, state.location).findings)
        found += data_file_findings(state.io, state.metadata) if data_files else ()
        yield from ((table, one) for one in found)
        return
    for identifier in examined_tables(named, table):
        yield from (
            (str(identifier), one) for one in examine(named.catalog, identifier, data_files=data_files).findings
        )


def examined_tables(named: NamedCatalog, table: str | None) -> Iterator[TableIdentifier]:
    """The table, or all tables of the catalog."""
    if table is not None:
        yield named.identifier(table)
    else:
        yield from all_tables(named.catalog)


def _row(name: str, one: Finding, repair: str) -> Sequence[object]:
    return (name, one.severity.value, one.check.value, one.path, one.snapshot_id, one.found, one.expected, repair)
