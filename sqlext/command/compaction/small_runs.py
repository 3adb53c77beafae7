"""Merging of small runs and small files on the driver, without a Spark job.

A few threads each write one part at a time. If the table has a sort order, a part is sorted in memory as a whole; else
its files are read one by one, the oldest first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from sqlext.command.change.distribution import arrow_order, keeps_order
from sqlext.command.change.row_level import Target, has_row_ids
from sqlext.command.compaction.rewrite_part import PartWriter, RewritePart, Sort, sorted_by
from sqlext.command.environment import Environment
from sqlext.command.plan.facts import CompactionFacts
from sqlext.command.plan.planner import plan_compaction
from sqlext.command.write_operation import WriteOperation
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.scan.live_rows import RowColumns
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spark.query.write_job import written_files
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.row_origins import RowOrigins
from sqlext.spec.types import UnknownType, VariantType
from sqlext.storage.file_io import FileIO
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.commit_message import TaskMessage

_THREADS = 2
# Spark's estimate for strings.
_TEXT_BYTES = 20


@dataclass(frozen=True, slots=True)
class Rewritten:
    """New data files and, by path of each, the origins of its rows."""

    files: Sequence[ContentFile]
    origins: Mapping[str, RowOrigins]

    def discard_origins(self, io: FileIO) -> None:
        """Deletes files of origins, which only the commit needs."""
        delete_files(io, [one.location for one in self.origins.values() if one.location is not None])


def merge_small_runs(
    environment: Environment, target: Target, operation: WriteOperation, parts: Sequence[Collection[str]]
) -> Rewritten | None:
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
    writer = part_writer(target, operation)
    if live is None or writer is None:
        return None
    of_parts = [RewritePart(part) for part in _of_parts(live, parts)]
    with ThreadPoolExecutor(_THREADS) as threads:
        found = list(threads.map(partial(_write, writer), of_parts, range(len(of_parts))))
    written = written_files([message for messages in found for message in messages or ()])
    if None in found:
        delete_files(operation.io, (file.file_path for file in written.data_files))
        return None
    sources = {number: task.file.file_path for number, task in enumerate(_oldest_first(live))}
    return Rewritten(written.data_files, written.origins(sources))


def part_writer(target: Target, operation: WriteOperation) -> PartWriter | None:
    """The writer of parts of the table in its sort order; None if Arrow cannot sort by it."""
    metadata, lineage = target.table.metadata, has_row_ids(target)
    schema = metadata.schema()
    plan = operation.plan.with_row_lineage() if lineage else operation.plan
    sort: Sort | None = None
    if keeps_order(metadata):
        columns = arrow_order(metadata)
        if columns is None:
            return None
        sort = partial(sorted_by, columns)
    return PartWriter(plan.with_origins(), RowColumns(schema.fields, schema_to_arrow(schema)), lineage, sort)


def _write(writer: PartWriter, part: RewritePart, number: int) -> Sequence[TaskMessage] | None:
    return writer.write(part, task_identity=lambda: (number, 0))


def _oldest_first(plan: ScanPlan) -> Sequence[FileScanTask]:
    return sorted(plan.tasks, key=lambda task: (task.sequence_number, task.file.file_path))


def _of_parts(plan: ScanPlan, parts: Sequence[Collection[str]]) -> Sequence[tuple[tuple[int, FileScanTask], ...]]:
    """The tasks of each part, numbered by age over all parts."""
    numbered = list(enumerate(_oldest_first(plan)))
    return [tuple((at, task) for at, task in numbered if task.file.file_path in part) for part in parts]


def _facts(
    environment: Environment, target: Target, plan: ScanPlan, parts: Sequence[Collection[str]]
) -> CompactionFacts:
    schema = target.table.metadata.schema()
    arrow = schema_to_arrow(schema)
    unreadable = any(isinstance(schema.field(id).type, VariantType | UnknownType) for id in schema.field_ids)
    sorts = keeps_order(target.table.metadata)
    return CompactionFacts(
        bytes=_bytes(plan.tasks, arrow),
        largest=max((_bytes([task for _, task in part], arrow) for part in _of_parts(plan, parts)), default=0)
        if sorts
        else 0,
        sorts=sorts,
        is_readable=lambda: not unreadable and environment.scans.reads_by_field_id(target.version, plan),
    )


def _bytes(tasks: Sequence[FileScanTask], arrow: pa.Schema) -> int:
    """Estimated bytes in memory, by the columns' types; at least the size of the files, which is larger for long
    strings."""
    rows = sum(task.file.record_count - task.deleted_rows for task in tasks)
    stored = sum(task.file.file_size_in_bytes for task in tasks)
    return max(rows * sum(_value_bytes(field.type) for field in arrow), stored)


def _value_bytes(type: pa.DataType) -> int:
    if pa.types.is_nested(type):
        return sum(_value_bytes(type.field(index).type) for index in range(type.num_fields))
    fixed = pa.types.is_primitive(type) or pa.types.is_fixed_size_binary(type)
    return 1 + type.bit_width // 8 if fixed else _TEXT_BYTES
