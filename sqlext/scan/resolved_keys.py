"""Equality deletes resolved to positions by the driver, if keys and deletes are few (spec: "Scan Planning").

The driver reads the key columns once and caches the positions, which costs less than a join in every scan. Of several
deletes of a key the largest sequence number decides, since it applies to rows of all smaller ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.scan.deletes.deleted_positions import leaves_no_row
from sqlext.scan.deletes.deletion_vector_file import DeletedPositions
from sqlext.scan.files.byte_cache import ByteCache
from sqlext.scan.files.file_columns import all_by_field_id
from sqlext.scan.files.manifest_cache import data_file_count
from sqlext.scan.scan_plan import EqualityDeleteFile, FileScanTask, ScanPlan
from sqlext.spec.arrow_field_id import FIELD_ID_KEY
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestFile
from sqlext.spec.manifests.position_set import position_set
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.schema import Schema
from sqlext.spec.types import DateType, IntegerType, LongType, NestedField, StringType, Type
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import each_decoded

_ARROW: Mapping[type[Type], pa.DataType] = {
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    DateType: pa.date32(),
    StringType: pa.string(),
}
_MOST_FILES = 1_000
_MOST_DELETES = 2_000_000
# What a core reads and looks up in one or two seconds; a string costs as much as four numbers.
_MOST_VALUES = 16_000_000
_TEXT = 4
_ROWS_AT_ONCE = 1_000_000
_CAPACITY = 64 * 1024 * 1024
_NAME_BYTES = 150

_Scope: TypeAlias = tuple[int, int | None]
"""Index of an equality group of the plan, and the ordinal of a partition, None for a global group."""
_CacheKey: TypeAlias = tuple[str, tuple[int, ...], tuple[str, ...]]


def has_few_files(manifests: Iterable[ManifestFile]) -> bool:
    """Whether a snapshot has so few data files, by its manifest list, that `can_resolve` is worth a plan."""
    return data_file_count(manifests) <= 10 * _MOST_FILES


def can_resolve(whole: ScanPlan, schema: Schema, mapping: NameMapping | None) -> bool:
    """Whether `ResolvedKeys` can resolve every scan of a table version; `whole` is its plan without predicate.

    Key columns must be int, long, date or string, be in `schema` and have no initial default. Their values and the
    files must be few, and have field ids.
    """
    fields = [_key_fields(schema, group.equality_ids) for group in whole.equality_groups]
    touched = [task for task in whole.tasks if task.equality_groups]
    if None in fields or len(touched) > _MOST_FILES:
        return False
    deletes = {delete.file.key: delete.file for group in whole.equality_groups for delete in group.files}.values()
    if len(deletes) > _MOST_FILES or sum(file.record_count for file in deletes) > _MOST_DELETES:
        return False
    costs = [sum(_TEXT if isinstance(one.type, StringType) else 1 for one in key or ()) for key in fields]
    values = sum(task.file.record_count * costs[group] for task in touched for group in task.equality_groups)
    return values <= _MOST_VALUES and all_by_field_id([*(task.file for task in touched), *deletes], mapping)


class ResolvedKeys:
    """Resolves the equality deletes of plans, and caches the positions; thread-safe."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._found: ByteCache[_CacheKey, DeletedPositions] = ByteCache(capacity)

    def resolve(self, io: FileIO, plan: ScanPlan, schema: Schema) -> ScanPlan:
        """The plan with equality deletes as `position_deletes`, without equality groups and without files whose rows
        are all deleted.

        `can_resolve` must hold. Raises NotFoundError or CorruptionError naming the file.
        """
        tasks = list(plan.tasks)
        for scope, numbers in _scopes(plan).items():
            found = self._positions(io, plan, schema, scope, [plan.tasks[number] for number in numbers])
            for number, positions in zip(numbers, found, strict=True):
                tasks[number] = _with_deleted(tasks[number], positions)
        return ScanPlan(tuple(replace(task, equality_groups=()) for task in tasks if not _is_gone(task)))

    def _positions(
        self, io: FileIO, plan: ScanPlan, schema: Schema, scope: _Scope, tasks: Sequence[FileScanTask]
    ) -> list[DeletedPositions]:
        """The positions in each task's file that the equality deletes of the scope delete."""
        group = plan.equality_groups[scope[0]]
        deletes = [one for one in group.files if one.partition_ordinal == scope[1]]
        keys: list[_CacheKey] = [
            (
                task.file.file_path,
                group.equality_ids,
                tuple(one.file.file_path for one in deletes if one.sequence_number > task.sequence_number),
            )
            for task in tasks
        ]
        found = {key[0]: self._found.find(key) for key in keys}
        missing = [task for task in tasks if found[task.file.file_path] is None]
        if missing:
            fields = _key_fields(schema, group.equality_ids)
            assert fields is not None
            oldest = min(task.sequence_number for task in missing)
            newer = [one for one in deletes if one.sequence_number > oldest]
            found |= _look_up(io, newer, fields, missing)
        return [self._kept(key, found[key[0]]) for key in keys]

    def _kept(self, key: _CacheKey, positions: DeletedPositions | None) -> DeletedPositions:
        assert positions is not None
        weight = len(positions.bitmap) + _NAME_BYTES * (1 + len(key[2]))
        return self._found.load_once(key, lambda: (positions, weight))


def _key_fields(schema: Schema, ids: Sequence[int]) -> tuple[NestedField, ...] | None:
    """The key columns; None if one of them is not supported."""
    columns = {field.id: field for field in schema.fields}
    fields = tuple(columns[id] for id in ids if id in columns)
    plain = all(type(field.type) in _ARROW and field.initial_default is None for field in fields)
    return fields if plain and len(fields) == len(ids) else None


def _scopes(plan: ScanPlan) -> Mapping[_Scope, Sequence[int]]:
    """The indices of the tasks to which the deletes of each scope may apply."""
    scopes: dict[_Scope, list[int]] = defaultdict(list)
    for number, task in enumerate(plan.tasks):
        for group in task.equality_groups:
            ordinal = None if plan.equality_groups[group].is_global else task.partition_ordinal
            scopes[group, ordinal].append(number)
    return scopes


def _with_deleted(task: FileScanTask, more: DeletedPositions) -> FileScanTask:
    if not more.count:
        return task
    if task.position_deletes is not None:
        more = DeletedPositions.of(task.deleted_positions() | more.positions())
    return replace(task, position_deletes=more.bitmap, deleted_rows=more.count)


def _is_gone(task: FileScanTask) -> bool:
    if task.position_deletes is None:
        return False
    return leaves_no_row(task.file, DeletedPositions(task.position_deletes, task.deleted_rows))


def _look_up(
    io: FileIO, deletes: Sequence[EqualityDeleteFile], fields: Sequence[NestedField], tasks: Sequence[FileScanTask]
) -> dict[str, DeletedPositions]:
    """The positions, by path, in the tasks' files that one of the equality deletes deletes."""
    lookup = _Lookup.of(io, deletes, fields)
    bitmaps = {task.file.file_path: BitMap64() for task in tasks}
    pieces: list[_Piece] = []
    each = each_decoded(io, [task.file.file_path for task in tasks])
    for of_task in each(lambda task: _pieces(io, task, fields), tasks):
        for piece in of_task:
            pieces.append(piece)
            if sum(len(one) for one in pieces) >= _ROWS_AT_ONCE:
                _mark(bitmaps, lookup, pieces)
                pieces = []
    _mark(bitmaps, lookup, pieces)
    return {path: DeletedPositions.of(positions) for path, positions in bitmaps.items()}


@dataclass(frozen=True, slots=True)
class _Piece:
    """The key columns of consecutive rows of a task's file, from position `start`."""

    task: FileScanTask
    start: int
    columns: list[pa.ChunkedArray]

    def __len__(self) -> int:
        return len(self.columns[0])


def _mark(bitmaps: Mapping[str, BitMap64], lookup: _Lookup, pieces: Sequence[_Piece]) -> None:
    if not pieces:
        return
    columns = [
        pa.chunked_array([chunk for piece in pieces for chunk in piece.columns[number].chunks], lookup.types[number])
        for number in range(len(lookup.types))
    ]
    numbers = lookup.sequence_numbers(columns)
    begin = 0
    for piece in pieces:
        end = begin + len(piece)
        hit = np.flatnonzero(numbers[begin:end] > piece.task.sequence_number) + piece.start
        bitmaps[piece.task.file.file_path].update(position_set(hit))
        begin = end


def _pieces(io: FileIO, task: FileScanTask, fields: Sequence[NestedField]) -> list[_Piece]:
    pieces: list[_Piece] = []
    start = 0
    for columns in _row_groups(io, task.file, fields, "data file"):
        pieces.append(_Piece(task, start, columns))
        start += len(pieces[-1])
    return pieces


@dataclass(frozen=True, slots=True)
class _Lookup:
    """The largest sequence number of the deletes of each key, in `largest` by the key's code.

    The code of a key of one column is the index of its value in `values`. Each further column combines the code so far
    with the index of its own value to a pair, whose index in the sorted `pairs` of that column is the next code.
    """

    types: tuple[pa.DataType, ...]
    values: tuple[pa.Array, ...]
    pairs: tuple[NDArray[np.int64], ...]
    largest: NDArray[np.int64]

    @classmethod
    def of(cls, io: FileIO, deletes: Sequence[EqualityDeleteFile], fields: Sequence[NestedField]) -> _Lookup:
        types = tuple(_ARROW[type(field.type)] for field in fields)
        read: list[list[pa.Array]] = [[] for _ in fields]
        numbers: list[NDArray[np.int64]] = []
        each = each_decoded(io, [delete.file.file_path for delete in deletes])
        of_files = each(lambda one: list(_row_groups(io, one.file, fields, "equality delete file")), deletes)
        for delete, row_groups in zip(deletes, of_files, strict=True):
            for columns in row_groups:
                for number, column in enumerate(columns):
                    read[number].extend(column.chunks)
                numbers.append(np.full(len(columns[0]), delete.sequence_number, np.int64))
        keys = [pa.chunked_array(chunks, type) for chunks, type in zip(read, types, strict=True)]
        values = tuple(pc.unique(column) for column in keys)
        places = _places(keys[0], values[0])
        pairs = []
        for column, known in zip(keys[1:], values[1:], strict=True):
            pair, places = np.unique(places * len(known) + _places(column, known), return_inverse=True)
            pairs.append(pair)
        largest = np.zeros(len(pairs[-1] if pairs else values[0]), np.int64)
        np.maximum.at(largest, places, np.concatenate([np.zeros(0, np.int64), *numbers]))
        return cls(types, values, tuple(pairs), largest)

    def sequence_numbers(self, columns: Sequence[pa.ChunkedArray]) -> NDArray[np.int64]:
        """The largest sequence number of the deletes of each row's key, 0 without one."""
        if not len(self.largest):
            return np.zeros(len(columns[0]), np.int64)
        places = _places(columns[0], self.values[0])
        for column, known, pairs in zip(columns[1:], self.values[1:], self.pairs, strict=True):
            place = _places(column, known)
            pair = np.where((places >= 0) & (place >= 0), places * len(known) + place, -1)
            at = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
            places = np.where(pairs[at] == pair, at, -1)
        return np.where(places >= 0, self.largest[places], 0)


def _places(column: pa.ChunkedArray, values: pa.Array) -> NDArray[np.int64]:
    """The index of each value, also of null, in `values`; -1 for a value that is not in them."""
    places = pc.fill_null(pc.index_in(column, value_set=values), -1)
    return np.asarray(places.to_numpy(), np.int64)


def _row_groups(
    io: FileIO, file: ContentFile, fields: Sequence[NestedField], kind: str
) -> Iterator[list[pa.ChunkedArray]]:
    """The key columns of each row group; nulls for a column that a data file lacks."""
    path = file.file_path
    try:
        with io.open_input(path) as source, pq.ParquetFile(source) as opened:
            names = {(field.metadata or {}).get(FIELD_ID_KEY): field.name for field in opened.schema_arrow}
            if None in names:
                raise ValueError("it has columns without field ids")
            found = [names.get(str(field.id).encode()) for field in fields]
            if None in found and file.content != Content.DATA:
                raise ValueError("it lacks a key column")
            there = [name for name in found if name is not None]
            for number in range(opened.num_row_groups):
                rows = opened.metadata.row_group(number).num_rows
                table = opened.read_row_group(number, columns=there)
                yield [_typed(table, name, field, rows) for name, field in zip(found, fields, strict=True)]
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=path, kind=kind) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptionError("CORRUPT_FILE", path=path, kind=kind, reason=error) from error


def _typed(table: pa.Table, name: str | None, field: NestedField, rows: int) -> pa.ChunkedArray:
    arrow = _ARROW[type(field.type)]
    if name is None:
        return pa.chunked_array([pa.nulls(rows, arrow)])
    column = table.column(name)
    column.validate(full=True)
    return column.cast(arrow)
