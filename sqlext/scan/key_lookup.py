"""Look-up of keys in the data files of a scan plan: file and position of each row, by the key columns alone.

It serves changes that are small compared to their table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError, UnsupportedError
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spec.arrow_field_id import FIELD_ID_KEY
from sqlext.spec.expression import And, Comparison, Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.position_set import position_array, position_set
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import each_decoded

_KIND = "data file"
_NO_ROWS = numpy.empty(0, numpy.int64)


@dataclass(frozen=True, slots=True)
class KeyMatches:
    """`positions` of live rows with one of the keys, by data file; `key_rows` is the index of each row's key."""

    positions: dict[str, BitMap64]
    key_rows: numpy.ndarray


def key_range(keys: pa.Table, field_ids: Sequence[int]) -> Predicate | None:
    """The bounds of integer and string key columns, a predicate that all rows with one of `keys` match; None without
    such a column."""
    combined: Predicate | None = None
    for column, field_id in zip(keys.columns, field_ids, strict=True):
        if not (pa.types.is_integer(column.type) or pa.types.is_string(column.type)):
            continue
        least, most = pc.min_max(column).as_py().values()
        bounds = And(Comparison(">=", field_id, least), Comparison("<=", field_id, most))
        combined = bounds if combined is None else And(combined, bounds)
    return combined


def lookup_bytes(plan: ScanPlan, field_ids: Sequence[int]) -> int:
    """Estimated bytes of the key columns of the plan's files in memory, at 8 bytes a value."""
    return sum(task.file.record_count * 8 * len(field_ids) for task in plan.tasks)


def find_keys(io: FileIO, plan: ScanPlan, keys: pa.Table, field_ids: Sequence[int]) -> KeyMatches:
    """Looks up `keys`, which are distinct and have the columns `field_ids`, in the plan's files.

    The plan must have no equality deletes. A file without one of the columns matches no key. Raises NotFoundError or
    CorruptionError naming the file, UnsupportedError for a file without field ids.
    """
    bounds = KeyBounds(keys)

    def find(task: FileScanTask) -> tuple[BitMap64, numpy.ndarray]:
        stored = _stored_columns(io, task.file.file_path, field_ids, bounds)
        if stored is None:
            return BitMap64(), _NO_ROWS
        found, rows = _matches(stored.columns, keys)
        found = stored.positions(found)
        if task.position_deletes is not None and len(found):
            deleted = task.deleted_positions()
            live = numpy.fromiter((int(p) not in deleted for p in found), bool, len(found))
            found, rows = found[live], rows[live]
        return position_set(found), rows

    positions: dict[str, BitMap64] = {}
    key_rows = [_NO_ROWS]
    paths = [task.file.file_path for task in plan.tasks]
    for path, (found, rows) in zip(paths, each_decoded(io, paths)(find, plan.tasks), strict=True):
        if found:
            positions[path] = found
            key_rows.append(rows)
    return KeyMatches(positions, numpy.concatenate(key_rows))


def stored_keys(io: FileIO, location: str, field_ids: Sequence[int], names: Sequence[str]) -> pa.Table:
    """The key columns of a data file, under `names`. Raises as `find_keys`, CorruptionError for a missing column."""
    columns = columns_by_id(io, location, field_ids)
    if columns is None:
        raise CorruptionError("CORRUPT_FILE", path=location, kind=_KIND, reason="it has no key columns")
    return pa.table(columns, names=list(names))


def row_ids(io: FileIO, plan: ScanPlan, positions: Mapping[str, BitMap64]) -> pa.Array:
    """The row id at each position of these data files, in order; null in a file without row ids (spec: Row Lineage).
    Raises as `find_keys`."""
    files = {task.file.file_path: task.file for task in plan.tasks}
    found = [_row_ids(io, files[path], own) for path, own in positions.items()]
    return pa.concat_arrays(found) if found else pa.array([], pa.int64())


def _row_ids(io: FileIO, file: ContentFile, positions: BitMap64) -> pa.Array:
    places = pa.array(position_array(positions))
    if file.first_row_id is None:
        return pa.nulls(len(places), pa.int64())
    inherited = pc.add(places, file.first_row_id)
    stored = columns_by_id(io, file.file_path, [ROW_ID.id])
    if stored is None:
        return inherited
    return pc.coalesce(stored[0].combine_chunks().take(places), inherited)


def columns_by_id(io: FileIO, location: str, field_ids: Sequence[int]) -> list[pa.ChunkedArray] | None:
    """Columns of a Parquet file; None if it lacks one. Raises as `find_keys`."""
    stored = _stored_columns(io, location, field_ids, None)
    return None if stored is None else stored.columns


@dataclass(frozen=True, slots=True)
class _StoredColumns:
    """Columns of a file's row groups that were read: where each begins among the rows read, and in the file."""

    columns: list[pa.ChunkedArray]
    read_starts: numpy.ndarray
    file_starts: numpy.ndarray

    def positions(self, rows: numpy.ndarray) -> numpy.ndarray:
        """The positions in the file of these rows among those read."""
        groups = numpy.searchsorted(self.read_starts, rows, "right") - 1
        positions: numpy.ndarray = rows - self.read_starts[groups] + self.file_starts[groups]
        return positions


def _stored_columns(
    io: FileIO, location: str, field_ids: Sequence[int], bounds: KeyBounds | None
) -> _StoredColumns | None:
    """Columns of a Parquet file without row groups that by their statistics have none of the keys; None if it lacks
    one of the columns. Raises as `find_keys`."""
    try:
        with io.open_input(location) as source:
            file = pq.ParquetFile(source)
            names = {(field.metadata or {}).get(FIELD_ID_KEY): field.name for field in file.schema_arrow}
            if set(names) == {None}:
                feature = f"data files without field ids (such as {location})"
                raise UnsupportedError("UNSUPPORTED_TABLE_FEATURE", feature=feature)
            found = [names.get(str(field_id).encode()) for field_id in field_ids]
            wanted = [name for name in found if name is not None]
            if len(wanted) < len(found):
                return None
            sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
            kept = range(len(sizes)) if bounds is None else bounds.row_groups(file, wanted)
            table = file.read_row_groups(list(kept), columns=wanted)
            file_starts = numpy.cumsum([0, *sizes])[:-1][list(kept)]
            read_starts = numpy.cumsum([0, *(sizes[number] for number in kept)])[:-1]
            return _StoredColumns([table.column(name) for name in wanted], read_starts, file_starts)
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=location, kind=_KIND) from error
    except (pa.ArrowException, OSError) as error:
        raise CorruptionError("CORRUPT_FILE", path=location, kind=_KIND, reason=error) from error


class KeyBounds:
    """Keys as the statistics of a Parquet file's row groups are compared with them.

    Whole numbers, dates, texts and bytes are; a column of another type excludes no row group.
    """

    def __init__(self, keys: pa.Table) -> None:
        self._columns = [_comparable(column.combine_chunks()) for column in keys.columns]

    def row_groups(self, file: pq.ParquetFile, names: Sequence[str]) -> Sequence[int]:
        """The row groups that may have one of the keys, whose columns have these names in the file."""
        count = file.num_row_groups
        if count < 2:
            return range(count)
        paths = [file.schema.column(number).path for number in range(len(file.schema))]
        # A column `a.b` and the field `b` of `a` share a path.
        pairs = [
            (paths.index(name), keys)
            for name, keys in zip(names, self._columns, strict=True)
            if keys is not None and paths.count(name) == 1
        ]
        return [number for number in range(count) if _may_match(file.metadata.row_group(number), pairs)]


def _comparable(keys: pa.Array) -> numpy.ndarray | pa.Array | None:
    """The keys of a column as sorted numbers, or as bytes; None if they are not compared."""
    if keys.null_count:
        return None
    if pa.types.is_date32(keys.type):
        keys = keys.cast(pa.int32())
    if pa.types.is_signed_integer(keys.type):
        return numpy.sort(keys.to_numpy(zero_copy_only=False))
    if pa.types.is_string(keys.type) or pa.types.is_binary(keys.type):
        return keys.cast(pa.binary())
    if pa.types.is_large_string(keys.type) or pa.types.is_large_binary(keys.type):
        return keys.cast(pa.large_binary())
    return None


def _may_match(group: pq.RowGroupMetaData, columns: Sequence[tuple[int, numpy.ndarray | pa.Array]]) -> bool:
    return all(_has_between(keys, group.column(leaf)) for leaf, keys in columns)


def _has_between(keys: numpy.ndarray | pa.Array, chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether one of the keys may be in a column chunk, by its statistics."""
    found = chunk.statistics
    whole = isinstance(keys, numpy.ndarray)
    physical = ("INT32", "INT64") if whole else ("BYTE_ARRAY",)
    if found is None or not found.has_min_max or chunk.physical_type not in physical:
        return True
    least, most = found.min_raw, found.max_raw
    if whole:
        return bool(numpy.searchsorted(keys, least) < numpy.searchsorted(keys, most, "right"))
    return bool(pc.any(pc.and_(pc.greater_equal(keys, least), pc.less_equal(keys, most))).as_py())


def _matches(columns: list[pa.ChunkedArray], keys: pa.Table) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Ascending positions of rows with one of the keys, and the index of the key of each."""
    typed = [column.cast(key.type) for column, key in zip(columns, keys.columns, strict=True)]
    if len(typed) == 1:
        rows = pc.index_in(typed[0], value_set=keys.column(0).combine_chunks())
        found = numpy.flatnonzero(pc.is_valid(rows).to_numpy())
        return found, pc.drop_null(rows).to_numpy().astype(numpy.int64)
    names = [f"key_{number}" for number in range(len(typed))]
    positions = pa.array(numpy.arange(len(typed[0])))
    stored = pa.table([*typed, positions], names=[*names, "position"])
    given = pa.table([*keys.columns, pa.array(numpy.arange(keys.num_rows))], names=[*names, "row"])
    joined = stored.join(given, names, join_type="inner").sort_by("position")
    return joined.column("position").to_numpy(), joined.column("row").to_numpy()
