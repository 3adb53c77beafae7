"""`sqlext cat`: rows of a table as Arrow, read by one process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import typer

from sqlext.errors import AnalysisError, OnlyByQuery, UnsupportedError
from sqlext.scan.files.readable_files import require_allowed
from sqlext.scan.live_rows import RowColumns, live_rows
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.scan.resolved_keys import ResolvedKeys, can_resolve
from sqlext.scan.scan_plan import FileScanTask, ScanPlan, plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.schema import Schema
from sqlext.terminal.named_catalog import NamedTable
from sqlext.terminal.output import plain, print_json, print_line, print_rows
from sqlext.terminal.read_state import state_of
from sqlext.write.arrow_schema import schema_to_arrow

_PARQUET = "PARQUET"
_COLUMN = re.compile(r"\s*(?:`((?:[^`]|``)+)`\s*|([^`,]+)),")
_COLUMNS = re.compile(f"(?:{_COLUMN.pattern})+")


def print_table_rows(named: NamedTable, columns: Sequence[str], most: int | None, *, as_json: bool) -> None:
    """At most so many rows, in the order of the files; with `columns` only these, in this order.

    Raises AnalysisError UNRESOLVED_COLUMN.WITH_SUGGESTION for one that is not there, and UnsupportedError
    ROWS_NEED_SPARK for files that are read by Spark alone.
    """
    state = state_of(named)
    schema = _chosen(state.metadata.schema(), columns, named.name)
    found: list[dict[str, object]] = []
    is_all = True
    for batch in _batches(state, plan_of(named.name, state, state.snapshot), schema, named.name):
        wanted = batch.num_rows if most is None else min(batch.num_rows, most - len(found))
        found += batch.slice(0, wanted).to_pylist()
        if wanted < batch.num_rows:
            is_all = False
            break
    if as_json:
        print_json({"table": named.name, "rows": found, "is_all": is_all})
        return
    names = [field.name for field in schema.fields]
    print_rows(names, [[cell(row[name]) for name in names] for row in found], right=numeric(schema))
    if not is_all:
        print_line("more rows are left out; --limit 0 shows all", "dim")


def column_names(text: str) -> Sequence[str]:
    """The names in `text`, in backticks where they have commas or backticks. Raises typer.BadParameter."""
    parts = _COLUMN.findall(text + ",") if text.strip() else []
    names = [quoted.replace("``", "`") if quoted else plain.strip() for quoted, plain in parts]
    if text.strip() and (not _COLUMNS.fullmatch(text + ",") or not all(names)):
        raise typer.BadParameter(f"{text} is no list of names separated by commas", param_hint="--columns")
    folded = [name.lower() for name in names]
    twice = next((name for name in names if folded.count(name.lower()) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"{twice} is named twice", param_hint="--columns")
    return names


def plan_of(name: str, state: TableState, snapshot: Snapshot | None) -> ScanPlan:
    """The data files of a snapshot with all deletes as positions. Raises UnsupportedError ROWS_NEED_SPARK."""
    plan = plan_scan(state.io, state.metadata, snapshot, AlwaysTrue(), manifests=state.manifests)
    require_allowed(state.io, [task.file for task in plan.tasks])
    if not plan.equality_groups:
        return plan
    schema = state.metadata.schema()
    if not can_resolve(plan, schema, NameMapping.of_table(state.metadata.properties)):
        raise _needs_spark(name, "its equality deletes are too many for one process, or of columns of other types")
    return ResolvedKeys().resolve(state.io, plan, schema)


def rows_of(
    state: TableState, task: FileScanTask, schema: Schema, name: str, *, source: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The live rows of a data file in the columns of the schema, see `live_rows`. Raises UnsupportedError
    ROWS_NEED_SPARK."""
    if task.file.file_format != _PARQUET:
        raise _needs_spark(name, f"{task.file.file_path} is {task.file.file_format.lower()}")
    try:
        yield from live_rows(state.io, task, columns_of(schema), lineage=False, source=source)
    except OnlyByQuery:
        reason = f"{task.file.file_path} has columns of another shape or without field ids"
        raise _needs_spark(name, reason) from None


def columns_of(schema: Schema) -> RowColumns:
    """How to read the columns of the schema."""
    return RowColumns(schema.fields, schema_to_arrow(schema))


def cell(value: object) -> str | None:
    """A value as a table shows it."""
    if value is None:
        return "null"
    told = plain(value)
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)


def numeric(schema: Schema) -> list[str]:
    """The columns of numbers, which are aligned to the right."""
    types = zip(schema.fields, schema_to_arrow(schema), strict=True)
    is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return [field.name for field, arrow in types if any(test(arrow.type) for test in is_number)]


def _batches(state: TableState, plan: ScanPlan, schema: Schema, name: str) -> Iterator[pa.RecordBatch]:
    for task in plan.tasks:
        yield from rows_of(state, task, schema, name)


def _chosen(schema: Schema, columns: Sequence[str], name: str) -> Schema:
    if not columns:
        return schema
    found = []
    for column in columns:
        field = schema.column(column) or schema.column(column, case_sensitive=False)
        if field is None:
            known = ", ".join(one.name for one in schema.fields)
            raise AnalysisError("UNRESOLVED_COLUMN.WITH_SUGGESTION", name=column, where=name, suggestions=known)
        found.append(field)
    return Schema(tuple(found))


def _needs_spark(name: str, reason: str) -> UnsupportedError:
    return UnsupportedError("ROWS_NEED_SPARK", name=name, reason=reason)
