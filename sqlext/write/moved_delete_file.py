"""Position-delete files and deletion vectors of a table that is copied elsewhere: the data files that they name are in
another place there (spec: Position Delete Files; Deletion Vectors)."""

from __future__ import annotations

from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from sqlext.errors import CorruptionError, UnsupportedError
from sqlext.spec.arrow_field_id import fields_by_id
from sqlext.spec.manifests.content_file import PUFFIN
from sqlext.spec.manifests.deletion_vector import REFERENCED_DATA_FILE
from sqlext.spec.manifests.path_prefix import PathOutsidePrefix, PathPrefix
from sqlext.spec.manifests.puffin import with_properties
from sqlext.write.delete_writer import FILE_PATH_ID

_PARQUET = "PARQUET"
_KIND = "position delete file"


def moved_position_deletes(data: bytes, path: str, file_format: str, prefix: PathPrefix) -> bytes:
    """The file at `path` with the locations of data files replaced.

    Raises PathOutsidePrefix, CorruptionError CORRUPT_FILE, and UnsupportedError for another format than Parquet and
    Puffin.
    """
    if file_format not in (_PARQUET, PUFFIN):
        raise UnsupportedError("DELETE_FILE_NOT_MOVED", path=path, format=file_format)
    try:
        return _vectors(data, prefix) if file_format == PUFFIN else _parquet(data, prefix)
    except PathOutsidePrefix:
        raise
    except (ValueError, KeyError, pa.ArrowException, OSError) as error:
        raise CorruptionError("CORRUPT_FILE", path=path, kind=_KIND, reason=error) from error


def _vectors(data: bytes, prefix: PathPrefix) -> bytes:
    """The blobs stay where they are in the file."""

    def moved(properties: dict[str, str]) -> dict[str, str]:
        named = properties.get(REFERENCED_DATA_FILE)
        return properties if named is None else {**properties, REFERENCED_DATA_FILE: prefix.moved(named)}

    return with_properties(data, moved)


def _parquet(data: bytes, prefix: PathPrefix) -> bytes:
    """With the row groups, columns and metadata of the file."""
    file = pq.ParquetFile(BytesIO(data))
    schema = file.schema_arrow
    place = schema.get_field_index(fields_by_id(schema)[FILE_PATH_ID].name)
    sink = BytesIO()
    codec = file.metadata.row_group(0).column(0).compression.lower() if file.num_row_groups else "zstd"
    codec = "none" if codec == "uncompressed" else codec
    with pq.ParquetWriter(sink, schema, compression=codec, store_schema=False) as writer:
        for number in range(file.num_row_groups):
            group = file.read_row_group(number)
            paths = group.column(place).combine_chunks().dictionary_encode()
            if isinstance(paths, pa.ChunkedArray):
                paths = paths.combine_chunks()
            names = pa.array([prefix.moved(name) for name in paths.dictionary.to_pylist()], schema.field(place).type)
            moved = pa.DictionaryArray.from_arrays(paths.indices, names).cast(schema.field(place).type)
            writer.write_table(group.set_column(place, schema.field(place), moved), row_group_size=group.num_rows or 1)
    return sink.getvalue()
