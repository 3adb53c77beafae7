"""`sqlext changes`: the rows that snapshots changed, as `table_changes` tells them, read by one process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from sqlext.command.changelog.change_spans import Span, changelog_spans, history_between
from sqlext.errors import AnalysisError
from sqlext.scan.changed_rows import RowsOfFile, changed_rows
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.scan.placed_rows import rows_at
from sqlext.scan.row_changes import row_changes
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.stored_changelog import changelog_table
from sqlext.spec.row_kind import ROW_KIND
from sqlext.sql.lowering.changes import CHANGE_TYPE, ORDINAL, ROW_KINDS, SNAPSHOT_ID
from sqlext.terminal.named_catalog import NamedTable, snapshot_of
from sqlext.terminal.output import plain, print_json, print_line, print_rows
from sqlext.terminal.read_state import state_of
from sqlext.terminal.table_rows import cell, columns_of, numeric, plan_of, rows_of
from sqlext.write.arrow_schema import schema_to_arrow

_CHANGES = {kind: change for change, kind in ROW_KINDS.items()}


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row with what became of it. `ordinal` counts the steps of the feed."""

    change: str
    ordinal: int
    snapshot_id: int
    values: dict[str, object]


def print_changes(
    named: NamedTable, start: str | None, end: str | None, most: int | None, *, net: bool, as_json: bool
) -> None:
    """The changes after snapshot `start` up to `end`, ids, branches or tags: from the first to the named version
    without them. With `net` the difference of the two.

    Raises NotFoundError SNAPSHOT_NOT_FOUND, AnalysisError CHANGES_NOT_BEHIND or CHANGES_EXPIRED, and UnsupportedError
    ROWS_NEED_SPARK.
    """
    metadata = named.metadata
    last = named.snapshot if end is None else snapshot_of(named.name, metadata, end)
    first = None if start is None else snapshot_of(named.name, metadata, start)
    found = islice(changes(named, first, last, net=net), None if most is None else most + 1)
    rows = list(found)
    is_all = most is None or len(rows) <= most
    rows = rows[:most]
    names = [field.name for field in metadata.schema().fields]
    if as_json:
        told = [
            {**one.values, CHANGE_TYPE: one.change, ORDINAL: one.ordinal, SNAPSHOT_ID: one.snapshot_id} for one in rows
        ]
        print_json({"table": named.name, "changes": told, "is_all": is_all})
        return
    print_rows(
        ("change", "snapshot", *names),
        [(one.change, one.snapshot_id, *(cell(one.values[name]) for name in names)) for one in rows],
        right=("snapshot", *numeric(metadata.schema())),
    )
    if not is_all:
        print_line("more changes are left out; --limit 0 shows all", "dim")


def changes(named: NamedTable, start: Snapshot | None, end: Snapshot | None, *, net: bool) -> Iterator[ChangedRow]:
    """The changed rows of each snapshot after `start` up to `end`, oldest first, or with `net` of all together."""
    if end is None:
        return
    metadata, state = named.metadata, state_of(named)
    history = history_between(metadata, start, end)
    if history is None and not net:
        assert start is not None
        is_known = list(ancestors(metadata, end))[-1].parent_snapshot_id is None
        condition = "CHANGES_NOT_BEHIND" if is_known else "CHANGES_EXPIRED"
        raise AnalysisError(condition, name=named.name, start=start.snapshot_id, end=end.snapshot_id)
    spans = [Span(start, end)] if net else changelog_spans(history or ())
    for ordinal, span in enumerate(spans):
        yield from _of_span(named, state, span, ordinal)


def _of_span(named: NamedTable, state: TableState, span: Span, ordinal: int) -> Iterator[ChangedRow]:
    stored = None if span.changelog is None else changelog_table(state.metadata, span.changelog)
    written = None if stored is None else stored.current_snapshot()
    if stored is not None and written is not None and state.io.exists(written.manifest_list):
        of_changelog = TableState(state.io, stored, state.location, written, state.manifests)
        plan = plan_of(named.name, of_changelog, written)
        for task in plan.tasks:
            for batch in rows_of(of_changelog, task, stored.schema(), named.name):
                yield from _rows(batch.to_pylist(), ordinal, span.after)
        return
    schema = state.metadata.schema()
    before = ScanPlan() if span.before is None else plan_of(named.name, state, span.before)
    after = plan_of(named.name, state, span.after)
    changed = changed_rows(before, after)
    assert changed is not None, "there is no limit, and no equality delete is left"
    shape = pa.schema([(field.name, field.type) for field in schema_to_arrow(schema)])
    nested = [field.name for field in shape if pa.types.is_nested(field.type)]
    sides = ((changed.went, before), (changed.came, after))
    gone, new = (_as_text(_rows_at(named, state, rows, plan), nested) for rows, plan in sides)
    key = [schema.column_path(id) for id in schema.identifier_field_ids]
    plain_key = [path[0] for path in key] if all(len(path) == 1 for path in key) else []
    for batch in row_changes(gone, new, plain_key).to_batches():
        rows = batch.to_pylist()
        for row in rows:
            row.update({name: None if row[name] is None else json.loads(row[name]) for name in nested})
        yield from _rows(rows, ordinal, span.after)


def _rows(rows: Iterable[dict[str, object]], ordinal: int, snapshot: Snapshot) -> Iterator[ChangedRow]:
    for row in rows:
        kind = str(row.pop(ROW_KIND.name))
        yield ChangedRow(_CHANGES[kind], ordinal, snapshot.snapshot_id, row)


def _rows_at(named: NamedTable, state: TableState, places: Sequence[RowsOfFile], plan: ScanPlan) -> pa.Table:
    schema = state.metadata.schema()

    def read(task: FileScanTask, source: int) -> Iterator[pa.RecordBatch]:
        return rows_of(state, task, schema, named.name, source=source)

    shape = columns_of(schema).shape(lineage=False, origins=True)
    return rows_at(plan.by_path(), {rows.file.file_path: rows.positions for rows in places}, shape, read).rows


def _as_text(rows: pa.Table, nested: Sequence[str]) -> pa.Table:
    """The rows with nested values as JSON text, which can be compared."""
    for name in nested:
        texts = [
            None if value is None else json.dumps(plain(value), sort_keys=True)
            for value in rows.column(name).to_pylist()
        ]
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(texts, pa.string()))
    return rows
