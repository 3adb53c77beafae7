"""Position-delete files, read as bitmaps (spec: "Position Delete Files")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import BinaryIO

import numpy
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.scan.deletes.deletion_vector_file import DeletedPositions, read_deletion_vectors
from sqlext.scan.files.byte_cache import ByteCache
from sqlext.scan.files.file_columns import AVRO, ORC, PARQUET
from sqlext.spec.manifests.content_file import ContentFile, ContentKey
from sqlext.spec.manifests.manifest_codec import read_records
from sqlext.spec.manifests.position_set import position_set
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import Each, each_decoded

FILE_PATH_ID = 2147483546
POS_ID = 2147483545

_KIND = "position delete file"
_COLUMNS = ["file_path", "pos"]
_DEFAULT_CAPACITY = 128 * 1024 * 1024
# So that memory is used again for the next batch, which costs less than memory that is touched first.
_BATCH_ROWS = 131_072
# Of a cached vector, beside its bitmap.
_VECTOR_BYTES = 200


class PositionDeleteCache:
    """A cache of position-delete files, decoded to bitmaps, and of deletion vectors; thread-safe."""

    def __init__(self, capacity: int = _DEFAULT_CAPACITY) -> None:
        self._files: ByteCache[str, Mapping[str, BitMap64]] = ByteCache(capacity)
        self._vectors: ByteCache[ContentKey, DeletedPositions] = ByteCache(capacity)

    def positions(self, io: FileIO, file: ContentFile) -> Mapping[str, BitMap64]:
        """Deleted positions in a position-delete file by data file path. Callers must not change the bitmaps.

        Raises NotFoundError or CorruptionError naming the file.
        """
        return self._files.load_once(
            file.file_path, lambda: _weighed(read_position_deletes(io, file.file_path, file.file_format))
        )

    def vector(self, io: FileIO, file: ContentFile) -> DeletedPositions:
        """The deletion vector of a manifest entry. Raises NotFoundError or CorruptionError naming the file."""

        (vector,) = self.vectors(io, [file])
        return vector

    def vectors(self, io: FileIO, files: Sequence[ContentFile]) -> list[DeletedPositions]:
        """The deletion vectors of manifest entries of one Puffin file. Raises as `vector`."""
        found: dict[ContentKey, DeletedPositions] = {}
        missing: list[ContentFile] = []
        for file in files:
            cached = self._vectors.find(file.key)
            if cached is None:
                missing.append(file)
            else:
                found[file.key] = cached
        if missing:
            for file, vector in zip(missing, read_deletion_vectors(io, missing), strict=True):
                found[file.key] = self._vectors.load_once(file.key, partial(_weighed_vector, vector))
        return [found[file.key] for file in files]

    def each(self, io: FileIO, files: Sequence[ContentFile]) -> Each:
        """How delete files, each at a path of its own, are read: several at a time unless most are cached."""
        held = (self._files.holds(file.file_path) or self._vectors.holds(file.key) for file in files)
        return each_decoded(io, [file.file_path for file, is_held in zip(files, held, strict=True) if not is_held])


def read_position_deletes(io: FileIO, location: str, file_format: str) -> dict[str, BitMap64]:
    """Deleted positions by data file path. Raises NotFoundError or CorruptionError naming `location`."""
    bitmaps: dict[str, BitMap64] = {}
    try:
        with io.open_input(location) as source:
            for rows in _READERS[file_format](source):
                rows.validate(full=True)
                reason = _fault(rows)
                if reason:
                    raise CorruptionError("CORRUPT_FILE", path=location, kind=_KIND, reason=reason)
                _add(bitmaps, rows)
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=location, kind=_KIND) from error
    except (pa.ArrowException, OSError, LookupError, ValueError, EOFError) as error:
        raise CorruptionError("CORRUPT_FILE", path=location, kind=_KIND, reason=error) from error
    return bitmaps


def _parquet(source: BinaryIO) -> Iterator[pa.RecordBatch]:
    file = pq.ParquetFile(source, read_dictionary=_COLUMNS[:1])
    schema = file.schema_arrow
    yield _no_rows(schema.field(name) for name in _COLUMNS if name in schema.names)
    yield from file.iter_batches(_BATCH_ROWS, columns=_COLUMNS)


def _orc(source: BinaryIO) -> Iterator[pa.RecordBatch]:
    file = orc.ORCFile(source)
    # Unlike Parquet's, the columns keep the order of the file.
    yield _no_rows(field for field in file.schema if field.name in _COLUMNS)
    yield from (file.read_stripe(number, columns=_COLUMNS) for number in range(file.nstripes))


def _no_rows(fields: Iterable[pa.Field]) -> pa.RecordBatch:
    """So that the columns of a file without rows are looked at too."""
    return pa.RecordBatch.from_pylist([], pa.schema(list(fields)))


def _avro(source: BinaryIO) -> Iterator[pa.RecordBatch]:
    _, records = read_records(source.read())
    # `read_records` names fields with ids from 1000 by their ids.
    paths, positions = ([record[f"p{field_id}"] for record in records] for field_id in (FILE_PATH_ID, POS_ID))
    yield pa.record_batch({"file_path": pa.array(paths, pa.string()), "pos": pa.array(positions, pa.int64())})


_READERS: Mapping[str, Callable[[BinaryIO], Iterator[pa.RecordBatch]]] = {PARQUET: _parquet, ORC: _orc, AVRO: _avro}


def _fault(rows: pa.RecordBatch) -> str | None:
    if rows.schema.names != _COLUMNS:
        return f"it has the columns {rows.schema.names} where {_COLUMNS} are needed"
    if rows.column("file_path").null_count or rows.column("pos").null_count:
        return "a file path or a position is null"
    if not pa.types.is_int64(rows.column("pos").type):
        return f"positions are of type {rows.column('pos').type} where int64 is needed"
    if rows.num_rows and pc.min(rows.column("pos")).as_py() < 0:
        return "a position is negative"
    return None


def _add(bitmaps: dict[str, BitMap64], rows: pa.RecordBatch) -> None:
    """Adds the positions of a batch. Rows are sorted by path only if they are not, contrary to the spec."""
    paths = rows.column("file_path")
    if not pa.types.is_dictionary(paths.type):
        paths = paths.dictionary_encode()
    codes, positions = paths.indices.to_numpy(zero_copy_only=False), rows.column("pos").to_numpy()
    edges = numpy.flatnonzero(numpy.diff(codes)) + 1
    if len(edges) >= 2 * len(paths.dictionary):
        order = numpy.argsort(codes, kind="stable")
        codes, positions = codes[order], positions[order]
        edges = numpy.flatnonzero(numpy.diff(codes)) + 1
    if len(codes):
        for code, run in zip(codes[numpy.r_[0, edges]], numpy.split(positions, edges), strict=True):
            path = paths.dictionary[int(code)].as_py()
            bitmaps.setdefault(path, BitMap64()).update(position_set(run))


def _weighed(bitmaps: dict[str, BitMap64]) -> tuple[dict[str, BitMap64], int]:
    held = sum(len(path) + len(bitmap.serialize()) + 200 for path, bitmap in bitmaps.items())
    return bitmaps, held


def _weighed_vector(vector: DeletedPositions) -> tuple[DeletedPositions, int]:
    return vector, len(vector.bitmap) + _VECTOR_BYTES
