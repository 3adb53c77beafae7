"""The names of fields in data files that are not read by field id.

Spark finds columns of Parquet files by field id. Parquet files without ids, which no Iceberg writer made, need the
table's name mapping. Spark's readers of ORC and Avro find columns by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from sqlext.errors import CorruptionError, NotFoundError, UnsupportedError
from sqlext.scan.files.byte_cache import ByteCache
from sqlext.spec.arrow_children import arrow_children
from sqlext.spec.arrow_field_id import FIELD_ID_KEY
from sqlext.spec.avro.avro_file import decode_schema
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.name_mapping import FileColumns, NameMapping, names_in_file
from sqlext.storage.file_io import FileIO

PARQUET, ORC, AVRO = "PARQUET", "ORC", "AVRO"

_KIND = "data file"
_CAPACITY = 32 * 1024 * 1024
_NAME_BYTES = 100
_THREADS = 8
_AVRO_HEAD_BYTES = 256 * 1024
_NO_COLUMNS: Mapping[int, frozenset[int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Reading:
    """The format of a file that is not read by field id, and the file's name of each field that it has.

    `pairs` are maps that an Avro file stores as arrays of key-value records (spec: Avro, maps): each as the id of the
    innermost field around it, followed by the path of lists and maps below that field, such as `5.element.value`.
    """

    file_format: str
    names: tuple[tuple[int, str], ...]
    pairs: tuple[str, ...] = ()


def all_by_field_id(files: Iterable[ContentFile], mapping: NameMapping | None) -> bool:
    """Whether all columns are found by field id, without opening a file: all are Parquet, without name mapping."""
    return mapping is None and all(file.file_format == PARQUET for file in files)


class FileColumnsCache:
    """A cache of the columns in headers and footers of data files; thread-safe."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._columns: ByteCache[str, _Columns] = ByteCache(capacity)

    def readings(
        self,
        io: FileIO,
        files: Sequence[ContentFile],
        mapping: NameMapping | None,
        partitioned: Mapping[int, frozenset[int]] = _NO_COLUMNS,
    ) -> list[Reading | None]:
        """The reading of each file; None for Parquet by field id. Files are opened only if that is not certain.

        `partitioned` are ids of columns by spec id: a file that lacks one, since its partition has the value, is not
        read by field id. Raises NotFoundError or CorruptionError naming a file, UnsupportedError for one without field
        ids if there is no mapping.
        """
        if all_by_field_id(files, mapping):
            return [None] * len(files)
        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(lambda file: self._reading(io, file, mapping, partitioned), files))

    def _reading(
        self, io: FileIO, file: ContentFile, mapping: NameMapping | None, partitioned: Mapping[int, frozenset[int]]
    ) -> Reading | None:
        if mapping is None and file.file_format == PARQUET:
            return None
        columns = self._columns.load_once(file.file_path, lambda: _weighed(_read(io, file)))
        if columns.names:
            whole = partitioned.get(file.spec_id, frozenset()) <= {field_id for field_id, _ in columns.names}
            return (
                None
                if whole and file.file_format == PARQUET
                else Reading(file.file_format, columns.names, columns.pairs)
            )
        if mapping is None:
            feature = f"data files without field ids (such as {file.file_path}) and no name mapping"
            raise UnsupportedError("UNSUPPORTED_TABLE_FEATURE", feature=feature)
        return Reading(file.file_format, tuple(names_in_file(mapping, columns.by_name).items()))


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a file; `names` is empty if it has no field ids."""

    names: tuple[tuple[int, str], ...]
    by_name: FileColumns
    pairs: tuple[str, ...] = ()


def _weighed(columns: _Columns) -> tuple[_Columns, int]:
    return columns, _NAME_BYTES * (2 + len(columns.names) + _size(columns.by_name))


def _size(columns: FileColumns) -> int:
    return sum(1 + _size(inner) for inner in columns.inside.values())


def _read(io: FileIO, file: ContentFile) -> _Columns:
    path = file.file_path
    try:
        return _READERS[file.file_format](io, path)
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=path, kind=_KIND) from error
    except (pa.ArrowException, OSError, LookupError, ValueError, EOFError) as error:
        raise CorruptionError("CORRUPT_FILE", path=path, kind=_KIND, reason=error) from error


def _parquet(io: FileIO, path: str) -> _Columns:
    with io.open_input(path) as source, pq.ParquetFile(source) as file:
        return _of_arrow(file.schema_arrow, FIELD_ID_KEY)


def _orc(io: FileIO, path: str) -> _Columns:
    with io.open_input(path) as source:
        return _of_arrow(orc.ORCFile(source).schema, b"iceberg.id")


def _avro(io: FileIO, path: str) -> _Columns:
    with io.open_input(path) as source:
        head = source.read(_AVRO_HEAD_BYTES)
        try:
            schema = decode_schema(head)
        except EOFError:
            schema = decode_schema(head + source.read())
    return _Columns(tuple(_avro_names(schema)), _avro_columns(schema), tuple(_avro_pairs(schema, "")))


_READERS: Mapping[str, Callable[[FileIO, str], _Columns]] = {PARQUET: _parquet, ORC: _orc, AVRO: _avro}


def _of_arrow(schema: pa.Schema, id_key: bytes) -> _Columns:
    return _Columns(tuple(_arrow_names(schema, id_key)), FileColumns({one.name: _arrow_columns(one) for one in schema}))


def _arrow_names(fields: Iterable[pa.Field], id_key: bytes) -> Iterable[tuple[int, str]]:
    for field in fields:
        field_id = (field.metadata or {}).get(id_key)
        if field_id is not None:
            yield int(field_id), field.name
        yield from _arrow_names(arrow_children(field.type).values(), id_key)


def _arrow_columns(field: pa.Field) -> FileColumns:
    return FileColumns({name: _arrow_columns(inner) for name, inner in arrow_children(field.type).items()})


def _avro_names(schema: Any) -> Iterable[tuple[int, str]]:
    for name, inner in _avro_children(schema).items():
        if "field-id" in inner:
            yield inner["field-id"], name
        yield from _avro_names(inner["type"])


def _avro_pairs(schema: Any, at: str) -> Iterator[str]:
    """`Reading.pairs` of an Avro schema at the path `at`."""
    match schema:
        case [*branches]:
            for branch in branches:
                yield from _avro_pairs(branch, at)
        case {"type": "array", "logicalType": "map", "items": {"fields": fields}}:
            yield at
            for part, field in zip(("key", "value"), fields, strict=False):
                yield from _avro_pairs(field["type"], f"{at}.{part}")
        case {"type": "record", "fields": fields}:
            for field in fields:
                yield from _avro_pairs(field["type"], str(field.get("field-id", "")))
        case {"type": "array", "items": items}:
            yield from _avro_pairs(items, f"{at}.element")
        case {"type": "map", "values": values}:
            yield from _avro_pairs(values, f"{at}.value")
        case {"type": dict() | list() as inner}:
            yield from _avro_pairs(inner, at)


def _avro_columns(schema: Any) -> FileColumns:
    return FileColumns({name: _avro_columns(inner["type"]) for name, inner in _avro_children(schema).items()})


def _avro_children(schema: Any) -> Mapping[str, Mapping[str, Any]]:
    """The children of an Avro schema by name, each an object with a `type`; of a union, those of its branches."""
    match schema:
        case [*branches]:
            return {name: inner for branch in branches for name, inner in _avro_children(branch).items()}
        case {"type": "record", "fields": fields}:
            return {field["name"]: field for field in fields}
        case {"type": "array", "logicalType": "map", "items": {"fields": fields}}:
            return {field["name"]: field for field in fields}
        case {"type": "array", "items": items}:
            return {"element": {"type": items}}
        case {"type": "map", "values": values}:
            return {"key": {"type": "string"}, "value": {"type": values}}
        case {"type": dict() | list() as inner}:
            return _avro_children(inner)
    return {}
