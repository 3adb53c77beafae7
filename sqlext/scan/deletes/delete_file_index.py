"""The index of a snapshot's delete files by the data files that they apply to (spec: "Scan Planning")."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlext.errors import CorruptionError
from sqlext.scan.deletes.position_delete import FILE_PATH_ID
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.scan.filter.measured_column import MetricsColumn
from sqlext.scan.filter.value_range import UNKNOWN_RANGE, ValueRange, metrics_range
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.types import StringType

K = TypeVar("K", bound=Hashable)
_PATHS = MetricsColumn(StringType())


@dataclass(frozen=True, slots=True)
class _EqualityDelete:
    """An equality-delete file with the ranges of its key columns by field id."""

    entry: ManifestEntry
    key_ranges: Mapping[int, ValueRange]


@dataclass(frozen=True, slots=True)
class _PositionDelete:
    """A position-delete file with the range of its data file paths."""

    entry: ManifestEntry
    paths: ValueRange


D = TypeVar("D", _EqualityDelete, _PositionDelete)


class _BySequence(Generic[K, D]):
    """Deletes by key, sorted by sequence number."""

    def __init__(self) -> None:
        self._deletes: dict[K, list[D]] = defaultdict(list)
        self._numbers: dict[K, list[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._deletes)

    def add(self, key: K, delete: D) -> None:
        self._deletes[key].append(delete)

    def freeze(self) -> None:
        for key, deletes in self._deletes.items():
            deletes.sort(key=lambda delete: sequence_number(delete.entry))
            self._numbers[key] = [sequence_number(delete.entry) for delete in deletes]

    def at_least(self, key: K, number: int) -> Sequence[D]:
        if key not in self._numbers:
            return ()
        return self._deletes[key][bisect_left(self._numbers[key], number) :]

    def above(self, key: K, number: int) -> Sequence[D]:
        if key not in self._numbers:
            return ()
        return self._deletes[key][bisect_right(self._numbers[key], number) :]


class DeleteFileIndex:
    """The live delete files of a snapshot, by referenced data file, by partition, or global.

    A look-up excludes a delete file only if its metrics prove that it deletes no row of the data file.
    """

    def __init__(
        self,
        entries: Iterable[ManifestEntry],
        *,
        specs: Mapping[int, PartitionSpec],
        columns: Mapping[int, MetricsColumn],
    ) -> None:
        """`specs` are all specs of the table, `columns` the columns of all its schemas, by field id.

        Raises CorruptionError for a deletion vector without data file, or for two of one data file.
        """
        self._columns = columns
        self._specs = specs
        self._vectors: dict[str, ManifestEntry] = {}
        self._positions_by_path: _BySequence[str, _PositionDelete] = _BySequence()
        self._positions_by_partition: _BySequence[PartitionKey, _PositionDelete] = _BySequence()
        self._equality_by_partition: _BySequence[PartitionKey, _EqualityDelete] = _BySequence()
        self._global_equality: _BySequence[None, _EqualityDelete] = _BySequence()
        for entry in entries:
            if entry.file.content == Content.EQUALITY_DELETES:
                self._add_equality(entry, is_global=self.is_global(entry))
            elif entry.file.content == Content.POSITION_DELETES:
                self._add_position(entry)
        self._positions_by_path.freeze()
        self._positions_by_partition.freeze()
        self._equality_by_partition.freeze()
        self._global_equality.freeze()

    def __bool__(self) -> bool:
        return any(
            (
                self._vectors,
                self._positions_by_path,
                self._positions_by_partition,
                self._equality_by_partition,
                self._global_equality,
            )
        )

    def is_global(self, entry: ManifestEntry) -> bool:
        """Whether an equality delete applies to all partitions, as one of an unpartitioned spec does."""
        return self._specs[entry.file.spec_id].is_unpartitioned

    def position_deletes(self, entry: ManifestEntry) -> tuple[ManifestEntry, ...]:
        """Position deletes that may apply to the data file `entry`, or its deletion vector, which replaces them."""
        path, number = entry.file.file_path, sequence_number(entry)
        vector = self._vectors.get(path)
        if vector is not None and sequence_number(vector) >= number:
            return (vector,)
        by_path = self._positions_by_path.at_least(path, number)
        by_partition: Sequence[_PositionDelete] = ()
        if self._positions_by_partition:
            by_partition = self._positions_by_partition.at_least(partition_key(entry.file), number)
        point = ValueRange(False, False, True, path, path)
        return tuple(delete.entry for delete in (*by_path, *by_partition) if delete.paths.overlaps(point))

    def equality_deletes(self, entry: ManifestEntry) -> tuple[ManifestEntry, ...]:
        """Equality deletes that may apply to the data file `entry`, by sequence number, partition and key ranges."""
        number = sequence_number(entry)
        candidates = list(self._global_equality.above(None, number))
        if self._equality_by_partition:
            candidates += self._equality_by_partition.above(partition_key(entry.file), number)
        if not candidates:
            return ()
        ranges: dict[int, ValueRange] = {}
        return tuple(delete.entry for delete in candidates if self._may_share_key(delete, entry.file, ranges))

    def _may_share_key(self, delete: _EqualityDelete, file: ContentFile, ranges: dict[int, ValueRange]) -> bool:
        """Whether key ranges of the delete and the file overlap; `ranges` caches those of the file."""
        for field_id, keys in delete.key_ranges.items():
            if field_id not in ranges:
                ranges[field_id] = metrics_range(file, field_id, self._columns[field_id])
            if not keys.overlaps(ranges[field_id]):
                return False
        return True

    def _add_position(self, entry: ManifestEntry) -> None:
        path = referenced_data_file(entry.file)
        if entry.file.is_deletion_vector:
            self._add_vector(path, entry)
            return
        if path is not None:
            self._positions_by_path.add(path, _PositionDelete(entry, UNKNOWN_RANGE))
            return
        paths = metrics_range(entry.file, FILE_PATH_ID, _PATHS)
        self._positions_by_partition.add(partition_key(entry.file), _PositionDelete(entry, paths))

    def _add_vector(self, path: str | None, entry: ManifestEntry) -> None:
        if path is not None and self._vectors.setdefault(path, entry) is entry:
            return
        reason = "its entry names no data file" if path is None else f"{path} has another one"
        raise CorruptionError("CORRUPT_FILE", path=entry.file.file_path, kind="deletion vector", reason=reason)

    def _add_equality(self, entry: ManifestEntry, *, is_global: bool) -> None:
        key_ranges = {
            field_id: metrics_range(entry.file, field_id, self._columns[field_id])
            for field_id in entry.file.equality_ids or ()
            if field_id in self._columns
        }
        delete = _EqualityDelete(entry, key_ranges)
        if is_global:
            self._global_equality.add(None, delete)
        else:
            self._equality_by_partition.add(partition_key(entry.file), delete)


def referenced_data_file(file: ContentFile) -> str | None:
    """The data file to which all deletes of a position-delete file refer, by its entry or equal bounds of `file_path`;
    None if there may be several."""
    if file.referenced_data_file is not None:
        return file.referenced_data_file
    lower = (file.lower_bounds or {}).get(FILE_PATH_ID)
    upper = (file.upper_bounds or {}).get(FILE_PATH_ID)
    # Truncated bounds are never equal, since a truncated upper bound is incremented.
    return lower.decode() if lower is not None and lower == upper else None


def sequence_number(entry: ManifestEntry) -> int:
    """The data sequence number; 0 in format version 1."""
    return entry.sequence_number or 0
