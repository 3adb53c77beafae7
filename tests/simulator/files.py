"""Content files of simulated tables: real Parquet, since the transaction layer reads keys and positions; made once for
the same content, and remembered by path for those who check."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from simulator.faults import refused
from sqlext.errors import NotFoundError
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.single_value import encode
from sqlext.spec.types import LongType
from sqlext.storage.file_io import FileIO

Row: TypeAlias = tuple[int, str]

ROWS: dict[str, list[Row]] = {}
"""Rows of data files by path, in order."""
EQUALITY: dict[str, list[int]] = {}
"""Deleted ids of equality-delete files by path."""
POSITIONS: dict[str, tuple[str, list[int]]] = {}
"""Data file and positions of position-delete files by path."""

CHANGES: dict[str, list[tuple[int, str, str]]] = {}
"""Rows of stored changelogs, with their kinds, by path."""

_FILE_PATH_ID, _POS_ID = 2147483546, 2147483545


def _field(name: str, type: pa.DataType, id: int, required: bool) -> pa.Field:
    return pa.field(name, type, nullable=not required, metadata={"PARQUET:field_id": str(id)})


_DATA = pa.schema([_field("id", pa.int64(), 1, True), _field("text", pa.string(), 2, False)])
_CHANGES = pa.schema([*_DATA, _field(ROW_KIND.name, pa.string(), ROW_KIND.id, False)])
_KEYS = pa.schema([_DATA.field("id")])
_DELETES = pa.schema([_field("file_path", pa.string(), _FILE_PATH_ID, True), _field("pos", pa.int64(), _POS_ID, True)])


def data_file(io: FileIO, location: str, rows: Sequence[Row]) -> ContentFile:
    ROWS[location] = list(rows)
    ids = [id for id, _ in rows]
    return _written(io, location, Content.DATA, _parquet(_DATA, tuple(zip(*rows, strict=True))), **_bounds(ids))


def changelog_file(io: FileIO, location: str, changes: Sequence[tuple[int, str, str]]) -> ContentFile:
    CHANGES[location] = list(changes)
    ids = [id for id, _, _ in changes]
    return _written(io, location, Content.DATA, _parquet(_CHANGES, tuple(zip(*changes, strict=True))), **_bounds(ids))


def equality_deletes(io: FileIO, location: str, ids: Sequence[int]) -> ContentFile:
    EQUALITY[location] = list(ids)
    file = _parquet(_KEYS, (tuple(ids),))
    return _written(io, location, Content.EQUALITY_DELETES, file, equality_ids=(1,), **_bounds(ids))


def position_deletes(io: FileIO, location: str, path: str, positions: Sequence[int]) -> ContentFile:
    POSITIONS[location] = path, list(positions)
    file = _parquet(_DELETES, ((path,) * len(positions), tuple(positions)))
    bounds = {_FILE_PATH_ID: path.encode()}
    return _written(
        io,
        location,
        Content.POSITION_DELETES,
        file,
        record_count=len(positions),
        lower_bounds=bounds,
        upper_bounds=bounds,
        referenced_data_file=path,
    )


def stored_rows(store: FileIO, location: str) -> list[Row]:
    """The rows of a data file, whose bytes are read as an engine would."""
    try:
        data = store.read(location)
    except FileNotFoundError:
        raise NotFoundError("FILE_NOT_FOUND", path=location, kind="data file") from None
    return ROWS[location] if location in ROWS else _values(data)


def deleted_ids(store: FileIO, location: str) -> list[int]:
    """The ids of an equality-delete file."""
    return EQUALITY[location] if location in EQUALITY else [id for (id,) in _values(store.read(location))]


def _values(data: bytes) -> list[tuple[Any, ...]]:
    """The rows of a file that another process has made."""
    table = pq.ParquetFile(io.BytesIO(data)).read()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@lru_cache(maxsize=4096)
def _parquet(schema: pa.Schema, columns: tuple[tuple[object, ...], ...]) -> bytes:
    sink = io.BytesIO()
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), sink, compression="none", use_dictionary=False)
    return sink.getvalue()


def _bounds(ids: Sequence[int]) -> dict[str, object]:
    return {
        "record_count": len(ids),
        "value_counts": {1: len(ids)},
        "null_value_counts": {1: 0},
        "lower_bounds": {1: encode(LongType(), min(ids))},
        "upper_bounds": {1: encode(LongType(), max(ids))},
    }


def _written(io: FileIO, location: str, content: Content, data: bytes, **given: object) -> ContentFile:
    try:
        io.create(location, data)
    except ConnectionError as error:
        raise refused("create", location) from error
    return ContentFile(
        content=content,
        file_path=location,
        file_format="PARQUET",
        spec_id=0,
        partition=(),
        file_size_in_bytes=len(data),
        **given,  # type: ignore[arg-type]
    )
