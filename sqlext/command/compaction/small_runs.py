"""Merging of small runs and small files on the driver, without a Spark job.

A few threads each write one part at a time. If the table has a sort order, a part is sorted in memory as a whole; else
its files are read one by one, the oldest first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pyarrow as pa

from sqlext.command.change.distribution import keeps_order, ordered
from sqlext.command.change.row_level import Target, has_row_ids
from sqlext.command.environment import Environment
from sqlext.command.plan.facts import CompactionFacts
from sqlext.command.plan.planner import plan_compaction
from sqlext.command.write_operation import WriteOperation
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.scan.live_rows import RowColumns, live_rows
from sqlext.scan.scan_plan import ScanPlan
from sqlext.spark.query.write_job import write_on_driver
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.spec.types import UnknownType, VariantType
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.task import write_rows

_THREADS = 2
# Spark's estimate for strings.
_TEXT_BYTES = 20


def merge_small_runs(
    environment: Environment, target: Target, operation: WriteOperation, parts: Sequence[Collection[str]]
) -> Sequence[ContentFile] | None:
    """Writes the live rows of `parts`, each the paths of data files, in the table's order and with row lineage if any.

    Returns None, and no file is left, if the rows are many, or if only a query can read them, find the live ones or
    sort them. Raises errors of a scan and of writing; the caller removes the files of the operation.
    """
    whole = environment.scans.plan(target.version, AlwaysTrue())
    paths = {path for part in parts for path in part}
    plan = replace(whole, tasks=tuple(task for task in whole.tasks if task.file.file_path in paths))
    if not plan_compaction(_facts(environment, target, plan, parts), environment.planning).most_bytes:
        return None
    live = environment.scans.with_positions(target.version, plan)
    if live is None:
        return None
    of_parts = _of_parts(live, parts)
    with ThreadPoolExecutor(_THREADS) as threads:
        written = list(threads.map(partial(_merge, target, operation), of_parts, range(len(of_parts))))
    if None in written:
        delete_files(operation.io, (file.file_path for files in written for file in files or ()))
        return None
    return [file for files in written for file in files or ()]


def _of_parts(plan: ScanPlan, parts: Sequence[Collection[str]]) -> Sequence[ScanPlan]:
    oldest_first = sorted(plan.tasks, key=lambda task: (task.sequence_number, task.file.file_path))
    return [replace(plan, tasks=tuple(t for t in oldest_first if t.file.file_path in part)) for part in parts]


def _facts(
    environment: Environment, target: Target, plan: ScanPlan, parts: Sequence[Collection[str]]
) -> CompactionFacts:
    schema = target.table.metadata.schema()
    arrow = schema_to_arrow(schema)
    unreadable = any(isinstance(schema.field(id).type, VariantType | UnknownType) for id in schema.field_ids)
    sorts = keeps_order(target.table.metadata)
    return CompactionFacts(
        bytes=_bytes(plan, arrow),
        largest=max((_bytes(part, arrow) for part in _of_parts(plan, parts)), default=0) if sorts else 0,
        sorts=sorts,
        is_readable=lambda: not unreadable and environment.scans.reads_by_field_id(target.version, plan),
    )


def _merge(target: Target, operation: WriteOperation, plan: ScanPlan, number: int) -> Sequence[ContentFile] | None:
    written_by = operation.plan.with_row_lineage() if has_row_ids(target) else operation.plan
    task = write_rows(written_by, task_identity=lambda: (number, 0))
    if keeps_order(target.table.metadata):
        rows = rows_of(target, plan)
        return None if rows is None else write_on_driver(rows, task).data_files
    only_by_query = False

    def file_by_file() -> Iterator[pa.RecordBatch]:
        nonlocal only_by_query
        for rows in _live_rows(target, plan):
            if rows is None:
                only_by_query = True
                return
            yield from rows.to_batches()

    files = write_on_driver(file_by_file(), task).data_files
    if not only_by_query:
        return files
    delete_files(operation.io, (file.file_path for file in files))
    return None


def rows_of(target: Target, plan: ScanPlan) -> pa.Table | None:
    """The rows of a plan without equality deletes, in the table's columns and order, followed by the lineage columns if
    the table has row ids; None if only a query can read or sort them."""
    found = []
    for rows in _live_rows(target, plan):
        if rows is None:
            return None
        found.append(rows)
    return ordered(pa.concat_tables(found), target.table.metadata)


def _live_rows(target: Target, plan: ScanPlan) -> Iterator[pa.Table | None]:
    """An empty table with the columns, then the live rows of each file; None for a file that only a query can read."""
    schema, lineage = target.table.metadata.schema(), has_row_ids(target)
    arrow = schema_to_arrow(schema)
    behind = (ROW_ID, LAST_UPDATED) if lineage else ()
    shape = pa.schema([*((one.name, one.type) for one in arrow), *((one.name, pa.int64()) for one in behind)])
    yield shape.empty_table()
    for task in plan.tasks:
        rows = live_rows(target.version.io, task, RowColumns(schema.fields, arrow), lineage=lineage)
        yield None if rows is None else rows.cast(shape)


def _bytes(plan: ScanPlan, arrow: pa.Schema) -> int:
    """Estimated bytes in memory, by the columns' types; at least the size of the files, which is larger for long
    strings."""
    return max(plan.record_count * sum(_value_bytes(field.type) for field in arrow), plan.size_in_bytes)


def _value_bytes(type: pa.DataType) -> int:
    if pa.types.is_nested(type):
        return sum(_value_bytes(type.field(index).type) for index in range(type.num_fields))
    fixed = pa.types.is_primitive(type) or pa.types.is_fixed_size_binary(type)
    return 1 + type.bit_width // 8 if fixed else _TEXT_BYTES
