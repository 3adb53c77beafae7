"""Rewriting of data files by parts without a query: on the driver if they are small, else each by a task of Spark.

Tasks read data files as Arrow, with deleted positions that the driver has resolved, and no row passes through the JVM.
A few threads of the driver each write one part at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from sqlext.command.change.distribution import keeps_order
from sqlext.command.change.row_level import Target, has_row_ids
from sqlext.command.compaction.rewrite_part import PartWriter, RewritePart, write_numbered
from sqlext.command.compaction.row_sort import RowSort, can_sort_in_memory
from sqlext.command.environment import Environment
from sqlext.command.plan.facts import CompactionFacts
from sqlext.command.plan.planner import plan_compaction, rewrites_in_tasks
from sqlext.command.write_operation import WriteOperation
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.scan.live_rows import RowColumns, unread_type
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spark.query.write_job import run_numbered, task_identity, written_files
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.row_origins import RowOrigins
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.commit_message import TaskMessage

_THREADS = 2
# Spark's estimate for strings.
_TEXT_BYTES = 20


@dataclass(frozen=True, slots=True)
class Part:
    """Data files, by path, that are rewritten together; sorted as a whole they become `pieces` files."""

    paths: frozenset[str]
    pieces: int = 1


@dataclass(frozen=True, slots=True)
class Rewritten:
    """New data files and, by path of each, the origins of its rows."""

    files: Sequence[ContentFile]
    origins: Mapping[str, RowOrigins]

    def discard_origins(self, io: FileIO) -> None:
        """Deletes files of origins, which only the commit needs."""
        delete_files(io, [one.location for one in self.origins.values() if one.location is not None])

    def __add__(self, other: Rewritten) -> Rewritten:
        return Rewritten([*self.files, *other.files], {**self.origins, **other.origins})


def table_sort(metadata: TableMetadata) -> RowSort | None:
    """The sort of new files of a table; None for one without an order that sqlext can sort by."""
    return RowSort(metadata.schema(), metadata.sort_order()) if keeps_order(metadata) else None


def rewrite_parts(
    environment: Environment,
    spark: SparkSession | None,
    target: Target,
    operation: WriteOperation,
    parts: Sequence[Part],
    sort: RowSort | None,
    *,
    moves: bool = False,
) -> Rewritten | None:
    """Writes the live rows of `parts`, each sorted by `sort` if not None, and with row lineage if the table has it.

    Returns None, and no file is left, if only a query can read the files, find the live rows or sort them, or if rows
    that move to another spec are many. Without a session (None) the driver writes, or nobody. Raises errors of a scan
    and of writing; the caller removes the files of the operation.
    """
    whole = environment.scans.plan(target.version, AlwaysTrue())
    paths = {path for part in parts for path in part.paths}
    plan = replace(whole, tasks=tuple(task for task in whole.tasks if task.file.file_path in paths))
    facts = _facts(environment, target, plan, parts, sort)
    on_driver = bool(plan_compaction(facts, environment.planning).most_bytes)
    in_tasks = spark is not None and not moves and rewrites_in_tasks(facts, environment.planning)
    if not (on_driver or in_tasks) or not (sort is None or can_sort_in_memory(sort)):
        return None
    live = environment.scans.with_positions(target.version, plan)
    if live is None:
        return None
    writer = _writer(target, operation, sort)
    numbered = _numbered(live, parts)
    if on_driver:
        found = _by_threads(environment, writer, numbered)
    else:
        assert spark is not None
        found = _by_tasks(spark, writer, numbered)
    written = written_files([message for messages in found for message in messages or ()])
    if None in found:
        delete_files(operation.io, (file.file_path for file in written.data_files))
        return None
    sources = {number: task.file.file_path for number, task in enumerate(_oldest_first(live))}
    dead = {task.file.file_path: task.position_deletes for task in live.tasks if task.position_deletes is not None}
    return Rewritten(written.data_files, written.origins(sources, dead))


def _writer(target: Target, operation: WriteOperation, sort: RowSort | None) -> PartWriter:
    lineage = has_row_ids(target)
    schema = target.table.metadata.schema()
    plan = operation.plan.with_row_lineage() if lineage else operation.plan
    return PartWriter(plan.with_origins(), RowColumns(schema.fields, schema_to_arrow(schema)), lineage, sort)


def _by_threads(
    environment: Environment, writer: PartWriter, parts: Sequence[RewritePart]
) -> Sequence[Sequence[TaskMessage] | None]:
    with ThreadPoolExecutor(_THREADS) as threads:
        written = threads.map(partial(_write_here, writer), parts)
        return list(environment.progress.counted("rewrite files", written, len(parts)))


def _write_here(writer: PartWriter, part: RewritePart) -> Sequence[TaskMessage] | None:
    return writer.write(part, attempt=0)


def _by_tasks(
    spark: SparkSession, writer: PartWriter, parts: Sequence[RewritePart]
) -> Sequence[Sequence[TaskMessage] | None]:
    found: dict[int, list[TaskMessage]] = {number: [] for number in range(len(parts))}
    by_query = set[int]()
    for number, message in run_numbered(
        spark, len(parts), partial(write_numbered, writer, tuple(parts), task_identity)
    ):
        if message is None:
            by_query.add(number)
        else:
            found[number].append(message)
    return [None if number in by_query else messages for number, messages in found.items()]


def _oldest_first(plan: ScanPlan) -> Sequence[FileScanTask]:
    return sorted(plan.tasks, key=lambda task: (task.sequence_number, task.file.file_path))


def _numbered(plan: ScanPlan, parts: Sequence[Part]) -> Sequence[RewritePart]:
    """The scan tasks of each part, numbered by age over all parts, and the numbers of its first new file."""
    part_of = {path: at for at, part in enumerate(parts) for path in part.paths}
    files: list[list[tuple[int, FileScanTask]]] = [[] for _ in parts]
    for number, task in enumerate(_oldest_first(plan)):
        files[part_of[task.file.file_path]].append((number, task))
    firsts = [sum(part.pieces for part in parts[:at]) for at in range(len(parts))]
    return [RewritePart(tuple(files[at]), firsts[at], part.pieces) for at, part in enumerate(parts)]


def _facts(
    environment: Environment, target: Target, plan: ScanPlan, parts: Sequence[Part], sort: RowSort | None
) -> CompactionFacts:
    schema = target.table.metadata.schema()
    unread = unread_type(schema)
    return CompactionFacts(
        bytes=_bytes(plan.tasks, schema),
        largest=max(_part_bytes(plan, parts, schema), default=0) if sort is not None else 0,
        sorts=sort is not None,
        is_readable=lambda: unread is None and environment.scans.reads_by_field_id(target.version, plan),
    )


def _part_bytes(plan: ScanPlan, parts: Sequence[Part], schema: Schema) -> Sequence[int]:
    by_path = plan.by_path()
    return [_bytes([by_path[path] for path in part.paths if path in by_path], schema) for part in parts]


def _bytes(tasks: Collection[FileScanTask], schema: Schema) -> int:
    """Estimated bytes in memory, by the columns' types; at least the size of the files, which is larger for long
    strings."""
    rows = sum(task.file.record_count - task.deleted_rows for task in tasks)
    stored = sum(task.file.file_size_in_bytes for task in tasks)
    return max(rows * sum(_value_bytes(field.type) for field in schema_to_arrow(schema)), stored)


def _value_bytes(type: pa.DataType) -> int:
    if pa.types.is_nested(type):
        return sum(_value_bytes(type.field(index).type) for index in range(type.num_fields))
    fixed = pa.types.is_primitive(type) or pa.types.is_fixed_size_binary(type)
    return 1 + type.bit_width // 8 if fixed else _TEXT_BYTES
