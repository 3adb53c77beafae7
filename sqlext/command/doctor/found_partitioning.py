"""The partitioning of a table by its data files: by the names of their folders, and the values in them.

A partition field is told for sure if one transform of one column gives, for the rows of every file, the folder that the
file is in. Otherwise it is left out of the spec, which is no fault: a spec with fewer fields fits the same files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, isqrt
from typing import Any
from urllib.parse import unquote, unquote_plus
from uuid import UUID

import pyarrow.compute as pc
import pyarrow.parquet as pq

from sqlext.spec.partition_folder import is_null, stored_value
from sqlext.spec.partition_spec import FIRST_PARTITION_FIELD_ID, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import unscaled
from sqlext.spec.transform import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
    bucket_hash,
)
from sqlext.spec.types import DecimalType, DoubleType, FloatType, IntegerType, LongType, StringType, Type, UuidType
from sqlext.storage.file_io import FileIO
from sqlext.write.arrow_schema import type_to_arrow
from sqlext.write.existing.existing_metrics import column_range
from sqlext.write.existing.existing_schema import MatchedLeaf
from sqlext.write.partitioner import transform_column

_PLAIN: Mapping[str, Transform] = {
    "": IdentityTransform(),
    "_year": YearTransform(),
    "_month": MonthTransform(),
    "_day": DayTransform(),
    "_hour": HourTransform(),
}
"""Transforms without a parameter by the endings of the names that Iceberg derives from the column's."""
_BUCKET, _TRUNCATE = "_bucket", "_trunc"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A data file with rows, the names of its folders `name=value` as they are, and its leaves by field id."""

    path: str
    folders: tuple[str, ...]
    leaves: Mapping[int, MatchedLeaf]


@dataclass(frozen=True, slots=True)
class FoundPartitioning:
    """Each file's spec id and partition by its path, the specs, of which the last is that of the newest file, and why
    some fields of the folders are in no spec."""

    partitions: Mapping[str, tuple[int, tuple[Any, ...]]]
    specs: tuple[PartitionSpec, ...]
    untold: tuple[str, ...]


def found_partitioning(io: FileIO, schema: Schema, files: Sequence[FoundFile]) -> FoundPartitioning:
    """The partitioning of `files`, oldest first. Raises StorageError, and OSError or ValueError for damaged files."""
    search = _Search(io, schema)
    names = dict.fromkeys(_name(folder) for file in files for folder in file.folders)
    fields, untold = dict[str, PartitionField](), list[str]()
    for name in names:
        placed = [(file, folder) for file in files for folder in file.folders if _name(folder) == name]
        found = search.candidates(name, placed)
        if len(found) == 1:
            transform, source_id = found[0]
            field_id = FIRST_PARTITION_FIELD_ID + len(fields)
            fields[name] = PartitionField(source_id, field_id, name, transform)
        else:
            fits = ", ".join(f"{transform} of {schema.column_name(id)}" for transform, id in found)
            untold.append(f"{name}, for which " + (f"{fits} fit alike" if found else "no transform of a column fits"))
    specs: dict[tuple[PartitionField, ...], int] = {}
    partitions: dict[str, tuple[int, tuple[Any, ...]]] = {}
    newest: tuple[PartitionField, ...] = ()
    for file in files:
        told = {name: folder for folder in file.folders if (name := _name(folder)) in fields}
        newest = tuple(fields[name] for name in told)
        values = tuple(search.value(fields[name], file, folder) for name, folder in told.items())
        partitions[file.path] = (specs.setdefault(newest, len(specs)), values)
    # The spec of the newest file is the one that new files get.
    order = [*(one for one in specs if one != newest), newest]
    ids = {specs.setdefault(one, len(specs)): id for id, one in enumerate(order)}
    return FoundPartitioning(
        {path: (ids[spec_id], values) for path, (spec_id, values) in partitions.items()},
        tuple(PartitionSpec(id, one) for id, one in enumerate(order)),
        tuple(untold),
    )


def partition_of(io: FileIO, schema: Schema, spec: PartitionSpec, file: FoundFile) -> tuple[Any, ...]:
    """The partition of a data file in a spec of the table. Raises ValueError if its rows are in several or it has none,
    StorageError, and OSError for a damaged file."""
    search = _Search(io, schema)
    return tuple(search.only_value(field, file) for field in spec.fields)


# Iceberg reads the number in `bucket[N]` and `truncate[W]` as Java's int.
_LARGEST_PARAMETER = (1 << 31) - 1
# Enough for all divisors of a hash, and of numbers up to 2^40.
_MOST_TRIED = 1 << 20

_Placed = Sequence[tuple[FoundFile, str]]
"""Files, each with a folder that it is in."""
_Fit = tuple[Transform, int]
"""A transform, and the id of its column."""


def _name(folder: str) -> str:
    return unquote_plus(folder.partition("=")[0])


def _text(folder: str) -> str:
    return folder.partition("=")[2]


class _Search:
    """A search for the transforms that give the folders, which reads each column of a file at most once."""

    def __init__(self, io: FileIO, schema: Schema) -> None:
        self._io = io
        self._schema = schema
        self._read: dict[tuple[str, int], list[Any]] = {}
        self._limits: dict[tuple[str, int], list[Any] | None] = {}

    def candidates(self, name: str, placed: _Placed) -> list[_Fit]:
        """The transforms that fit all files; only those whose names Iceberg would derive so, if there are any."""
        ids = [id for id in self._schema.field_ids if self._is_source(id)]
        columns = {id: self._schema.column_name(id) for id in ids}
        derived = [
            one
            for id, column in columns.items()
            if name.startswith(column)
            for one in self._fitting(id, placed, name[len(column) :])
        ]
        if derived:
            return derived
        found = [one for id in ids for one in self._fitting(id, placed, None)]
        # Numbers of which several fit are those of transforms that change nothing yet.
        plain = [one for one in found if one[0] in _PLAIN.values()]
        return plain if len(plain) == 1 and len(found) > 2 else found

    def value(self, field: PartitionField, file: FoundFile, folder: str) -> Any:
        """The partition value of a file's rows."""
        if field.source_id not in file.leaves:
            return self._told(field.source_id, folder)
        type = self._schema.field(field.source_id).type
        return field.transform.apply(type, self._values(file, field.source_id, field.transform)[0])

    def only_value(self, field: PartitionField, file: FoundFile) -> Any:
        """The partition value of a file's rows. Raises ValueError unless they share one."""
        if isinstance(field.transform, VoidTransform):
            return None
        if field.source_id not in file.leaves:
            told = next((folder for folder in file.folders if _name(folder) == field.name), None)
            is_told = told is not None and isinstance(field.transform, IdentityTransform)
            return self._told(field.source_id, told) if told is not None and is_told else None
        type = self._schema.field(field.source_id).type
        values = self._values(file, field.source_id, field.transform)
        results = {repr(result): result for result in (field.transform.apply(type, value) for value in values)}
        if len(results) != 1:
            raise ValueError(f"its rows are in {len(results)} partitions of {field.name}")
        return next(iter(results.values()))

    def _is_source(self, id: int) -> bool:
        type = self._schema.field(id).type
        return any(one.can_transform(type) for one in _PLAIN.values())

    def _fitting(self, id: int, placed: _Placed, ending: str | None) -> Iterator[_Fit]:
        """The transforms of a column that fit all files; with `ending` only those whose derived names end so."""
        type = self._schema.field(id).type
        for own, transform in _PLAIN.items():
            if ending in (None, own) and transform.can_transform(type) and self._fits(transform, id, placed):
                yield transform, id
        for own, solve, transform_of in (
            (_BUCKET, self._bucket, BucketTransform),
            (_TRUNCATE, self._truncate, TruncateTransform),
        ):
            named = None if ending is None else re.fullmatch(rf"{own}(?:_([1-9][0-9]{{0,8}}))?", ending)
            if ending is not None and named is None:
                continue
            numbers = solve(type, id, placed) if named is None or not named[1] else (int(named[1]),)
            for number in numbers:
                numbered = transform_of(number)
                if numbered.can_transform(type) and self._fits(numbered, id, placed):
                    yield numbered, id

    def _fits(self, transform: Transform, id: int, placed: _Placed) -> bool:
        return all(self._fits_file(transform, id, file, folder) for file, folder in placed)

    def _fits_file(self, transform: Transform, id: int, file: FoundFile, folder: str) -> bool:
        if id not in file.leaves:
            # The folder has the value in place of the file, as in Hive's layout.
            is_named = _name(folder) == self._schema.column_name(id)
            return is_named and isinstance(transform, IdentityTransform) and self._has_value(id, folder)
        type = self._schema.field(id).type
        field = PartitionField(id, FIRST_PARTITION_FIELD_ID, _name(folder), transform)
        try:
            results = [transform.apply(type, value) for value in self._values(file, id, transform)]
        except (ValueError, OverflowError):
            return False
        return all(_is_folder(folder, field, self._schema, result) for result in results)

    def _has_value(self, id: int, folder: str) -> bool:
        try:
            self._told(id, folder)
        except ValueError:
            return False
        return True

    def _told(self, id: int, folder: str) -> Any:
        return stored_value(self._schema.field(id).type, unquote(_text(folder)))

    def _values(self, file: FoundFile, id: int, transform: Transform) -> list[Any]:
        """Values of the column by which those of all rows are judged: the limits, if the transform makes them one."""
        limits = self._limits_of(file, id)
        if limits is not None and (limits[0] == limits[-1] or transform.preserves_order):
            type = self._schema.field(id).type
            results = [transform.apply(type, limit) for limit in limits]
            if all(one == other for one, other in pairwise(results)):
                return limits
        return self._all(file, id)

    def _limits_of(self, file: FoundFile, id: int) -> list[Any] | None:
        key = file.path, id
        if isinstance(self._schema.field(id).type, FloatType | DoubleType):
            # Limits do not tell -0.0 from 0.0, which are two partitions, and NaN is in none.
            return None
        if key not in self._limits:
            with self._io.open_input(file.path) as source, pq.ParquetFile(source) as opened:
                known = column_range(opened.metadata, file.leaves[id])
            if known.nulls == known.values:
                self._limits[key] = [None]
            else:
                has_limits = known.nulls == 0 and known.limits is not None
                self._limits[key] = list(known.limits or ()) if has_limits else None
        return self._limits[key]

    def _all(self, file: FoundFile, id: int) -> list[Any]:
        key = file.path, id
        if key not in self._read:
            self._read[key] = _distinct(self._io, file.path, file.leaves[id])
        return self._read[key]

    def _bucket(self, type: Type, id: int, placed: _Placed) -> Sequence[int]:
        """Numbers of buckets that may fit: the hash of each value less its bucket is a multiple of them."""
        if not BucketTransform(1).can_transform(type):
            return ()
        common = most = 0
        for file, folder in placed:
            text = _text(folder)
            values = [one for one in self._all(file, id) if one is not None] if id in file.leaves else []
            if not values:
                continue
            if not (text.isascii() and text.isdigit()):
                return ()
            most = max(most, int(text))
            common = gcd(common, *((bucket_hash(type, one) & 0x7FFFFFFF) - int(text) for one in values))
        return _divisors_above(most, common)

    def _truncate(self, type: Type, id: int, placed: _Placed) -> Sequence[int]:
        """Widths that may fit: the length of a text that some value is longer than, or what numbers are rounded down to
        a multiple of."""
        if isinstance(type, StringType):
            return self._text_width(id, placed)
        if isinstance(type, IntegerType | LongType | DecimalType):
            return self._number_width(type, id, placed)
        return ()

    def _text_width(self, id: int, placed: _Placed) -> Sequence[int]:
        longest = 0
        for file, folder in placed:
            length = len(unquote_plus(_text(folder)))
            longest = max(longest, length)
            if id in file.leaves and any(one is not None and len(one) > length for one in self._all(file, id)):
                return (length,) if length else ()
        return longest + 1, longest + 2

    def _number_width(self, type: Type, id: int, placed: _Placed) -> Sequence[int]:
        whole: Callable[[Any], int] = (lambda one: unscaled(one, type.scale)) if isinstance(type, DecimalType) else int
        common = most = 0
        for file, folder in placed:
            values = [whole(one) for one in self._all(file, id) if one is not None] if id in file.leaves else []
            if not values:
                continue
            try:
                start = self._told(id, folder)
            except ValueError:
                return ()
            if start is None:
                return ()
            most = max(most, *(one - whole(start) for one in values))
            common = gcd(common, whole(start))
        return _divisors_above(most, common)


def _divisors_above(least: int, number: int) -> Sequence[int]:
    """The divisors of `number` that are larger than `least` and may be the parameter of a transform; of 0, which all
    numbers divide, two of them."""
    if number == 0:
        return least + 1, least + 2
    small = (one for one in range(1, min(isqrt(number), _MOST_TRIED) + 1) if number % one == 0)
    found = {one for pair in ((one, number // one) for one in small) for one in pair}
    return sorted(one for one in found if least < one <= _LARGEST_PARAMETER)


def _is_folder(folder: str, field: PartitionField, schema: Schema, value: Any) -> bool:
    """Whether it is the folder of a partition value, in Iceberg's spelling or in Hive's."""
    if PartitionSpec(0, (field,)).partition_path(schema, (value,)) == folder:
        return True
    if value is None:
        return is_null(_text(folder))
    return unquote(_text(folder)) == field.transform.human(schema.field(field.source_id).type, value)


def _distinct(io: FileIO, path: str, leaf: MatchedLeaf) -> list[Any]:
    """The stored values of a column, each once."""
    with io.open_input(path) as source, pq.ParquetFile(source) as file:
        column = file.reader.read_all(column_indices=[leaf.position]).column(0)
    while column.type.num_fields:
        column = pc.struct_field(column, [0])
    distinct = column.unique().cast(type_to_arrow(leaf.type))
    values = transform_column(IdentityTransform(), leaf.type, distinct).to_pylist()
    return [UUID(bytes=one) if one is not None else None for one in values] if _is_uuid(leaf.type) else values


def _is_uuid(type: Type) -> bool:
    return isinstance(type, UuidType)


def folders_of(path: str, location: str) -> tuple[str, ...]:
    """The folders `name=value` of a file below `location`."""
    below: Iterable[str] = path[len(location) :].strip("/").split("/")[:-1]
    return tuple(folder for folder in below if "=" in folder[1:])
