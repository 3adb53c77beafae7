"""Small runs of buckets, merged by the driver: no query and no task of Spark's.

Rows go from file to file, a bucket at a time in each of a few threads: as many are in memory as in tasks of a job.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pyarrow as pa

from sqlext.command.distribution import ordered
from sqlext.command.environment import Environment
from sqlext.command.row_level import Target, has_row_ids
from sqlext.command.write_operation import WriteOperation
from sqlext.commit.own_files import delete_files
from sqlext.scan.live_rows import RowColumns, live_rows
from sqlext.scan.scan_plan import ScanPlan
from sqlext.spark.driver_rows import SMALL_BYTES
from sqlext.spark.write_job import write_on_driver
from sqlext.spec.content_file import ContentFile
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.spec.types import UnknownType, VariantType
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.task import write_rows

_THREADS = 2
# Of a part, of which there are a few copies while it is sorted and written; and of all, which take some seconds, and by
# a query four times the CPU.
_MOST_OF_PART = 2
_MOST = 8
# What a text is taken to have, as Spark does.
_TEXT_BYTES = 20


def merge_small_runs(
    environment: Environment, target: Target, operation: WriteOperation, parts: Sequence[Collection[str]]
) -> Sequence[ContentFile] | None:
    """Writes the live rows of the target's data files, of which each part has the paths of some, part by part in the
    table's order, with their lineage where the table has row ids.

    None where they are many, or where only a query can read them, tell which are live, or sort them: nothing is left
    then. Errors: those of a scan and of writing; the caller removes the files of the operation.
    """
    plan = _small_plan(environment, target, {path for part in parts for path in part})
    if plan is None:
        return None
    of_parts = [replace(plan, tasks=tuple(t for t in plan.tasks if t.file.file_path in part)) for part in parts]
    arrow = schema_to_arrow(target.table.metadata.schema())
    if any(_bytes(part, arrow) > _MOST_OF_PART * SMALL_BYTES for part in of_parts):
        return None
    with ThreadPoolExecutor(_THREADS) as threads:
        written = list(threads.map(partial(_merge, target, operation), of_parts, range(len(of_parts))))
    if None in written:
        delete_files(operation.io, (file.file_path for files in written for file in files or ()))
        return None
    return [file for files in written for file in files or ()]


def _small_plan(environment: Environment, target: Target, paths: Collection[str]) -> ScanPlan | None:
    """The scan of those files without equality deletes, if it is one for the driver."""
    version, schema = target.version, target.table.metadata.schema()
    if any(isinstance(schema.field(id).type, VariantType | UnknownType) for id in schema.field_ids):
        return None
    whole = environment.scans.plan(version, AlwaysTrue())
    part = replace(whole, tasks=tuple(task for task in whole.tasks if task.file.file_path in paths))
    if _bytes(part, schema_to_arrow(schema)) > _MOST * SMALL_BYTES:
        return None
    return (
        environment.scans.with_positions(version, part) if environment.scans.reads_by_field_id(version, part) else None
    )


def _merge(target: Target, operation: WriteOperation, plan: ScanPlan, number: int) -> Sequence[ContentFile] | None:
    rows = rows_of(target, plan)
    if rows is None:
        return None
    written_by = operation.plan.with_row_lineage() if has_row_ids(target) else operation.plan
    return write_on_driver(rows, write_rows(written_by, task_identity=lambda: (number, 0))).data_files


def rows_of(target: Target, plan: ScanPlan) -> pa.Table | None:
    """The rows of a scan without equality deletes in the table's columns and order, with their lineage behind them
    where the table has row ids; None where only a query can read or sort them."""
    schema, lineage = target.table.metadata.schema(), has_row_ids(target)
    arrow = schema_to_arrow(schema)
    behind = (ROW_ID, LAST_UPDATED) if lineage else ()
    shape = pa.schema([*((one.name, one.type) for one in arrow), *((one.name, pa.int64()) for one in behind)])
    found = [shape.empty_table()]
    for task in plan.tasks:
        rows = live_rows(target.version.io, task, RowColumns(schema.fields, arrow), lineage=lineage)
        if rows is None:
            return None
        found.append(rows.cast(shape))
    return ordered(pa.concat_tables(found), target.table.metadata)


def _bytes(plan: ScanPlan, arrow: pa.Schema) -> int:
    """In memory as far as types tell, or in files where that is more, as it is with long texts."""
    return max(plan.record_count * sum(_value_bytes(field.type) for field in arrow), plan.size_in_bytes)


def _value_bytes(type: pa.DataType) -> int:
    if pa.types.is_nested(type):
        return sum(_value_bytes(type.field(index).type) for index in range(type.num_fields))
    fixed = pa.types.is_primitive(type) or pa.types.is_fixed_size_binary(type)
    return 1 + type.bit_width // 8 if fixed else _TEXT_BYTES
