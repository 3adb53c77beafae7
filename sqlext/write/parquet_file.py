"""A Parquet file while it is written, and the content file that it becomes (spec: Appendix A, Parquet)."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.types import DoubleType, FloatType
from sqlext.storage.file_io import FileIO
from sqlext.write.arrow_schema import as_filed, schema_to_arrow
from sqlext.write.bloom_filters import BloomFilter, BloomFilters, writer_options
from sqlext.write.coded_texts import coded_schema, coded_table
from sqlext.write.column_chunk import ColumnChunks, FileChunks
from sqlext.write.encoding import Encodings
from sqlext.write.metrics import MetricsConfig, MetricsMode, file_metrics
from sqlext.write.parquet_column import ParquetColumn, parquet_columns, variant_groups
from sqlext.write.variant_annotation import with_variants

SCHEMA_KEY = "iceberg.schema"
"""The footer's key of the schema that the rows were written under."""

# Of TPC-H's lineitem at scale 1, level 3 is 3 % smaller and costs 4 % more CPU than level 1.
_ZSTD_LEVEL = 1
_CODECS = {"uncompressed": "none"}
LEVELLED_CODECS = frozenset({"zstd", "gzip"})


@dataclass(frozen=True)
class ParquetLayout:
    """The settings that the files of one writer share."""

    arrow_schema: pa.Schema
    file_schema: pa.Schema
    schema_json: str
    columns: tuple[ParquetColumn, ...]
    variants: frozenset[tuple[str, ...]]
    modes: tuple[MetricsMode, ...]
    compression: str
    compression_level: int | None
    chunks: FileChunks
    bloom_filters: Mapping[str, BloomFilter] = field(default_factory=dict)
    bloom_filter_bytes: int = 0

    @classmethod
    def of(
        cls,
        schema: Schema,
        metrics: MetricsConfig,
        compression: str,
        level: int | None,
        bloom_filters: BloomFilters | None = None,
        chunks: ColumnChunks | None = None,
    ) -> ParquetLayout:
        columns = parquet_columns(schema)
        arrow_schema = schema_to_arrow(schema)
        if compression == "zstd" and level is None:
            level = _ZSTD_LEVEL
        if compression not in LEVELLED_CODECS:
            level = None
        codec = _CODECS.get(compression, compression)
        return cls(
            arrow_schema=arrow_schema,
            file_schema=as_filed(arrow_schema),
            schema_json=json.dumps(schema.to_json()),
            columns=columns,
            variants=variant_groups(columns),
            modes=metrics.modes(schema, [column.field_id for column in columns]),
            compression=codec,
            compression_level=level,
            chunks=(chunks or ColumnChunks()).of_files(schema, columns),
            bloom_filters={} if bloom_filters is None else bloom_filters.of_files(schema, columns),
            bloom_filter_bytes=0 if bloom_filters is None else bloom_filters.max_bytes,
        )


class ParquetFile:
    """A file that is written one row group at a time."""

    def __init__(
        self,
        store: FileIO,
        location: str,
        layout: ParquetLayout,
        encodings: Encodings,
        rows: int = 0,
        size: int = 0,
        coded: frozenset[str] = frozenset(),
    ) -> None:
        """Opens the file, whose first row group has `rows` rows, which take `size` bytes in memory; none of a file of
        deleted positions, whose pages nobody chooses among. Columns `coded` with a dictionary are written as codes.
        Raises as `FileIO.open_output`."""
        coded = coded & set(encodings.dictionary) - layout.bloom_filters.keys()
        self._schema = coded_schema(layout.arrow_schema, coded)
        filed = coded_schema(layout.file_schema, coded)
        self._casts = filed if layout.file_schema != layout.arrow_schema else None
        self.location = location
        self._store = store
        self._layout = layout
        self._floats = [
            column
            for column in layout.columns
            if isinstance(column.type, FloatType | DoubleType) and not column.repeated
        ]
        self._nan_counts = dict.fromkeys((column.field_id for column in self._floats), 0)
        self._footers: list[pq.FileMetaData] = []
        self._sink = _Sink(store.open_output(location))
        self._writer: pq.ParquetWriter | None = None
        try:
            self._writer = _parquet_writer(self._sink, layout, filed, encodings, self._footers, rows, size)
        except BaseException:
            self.abort()
            raise

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._sink.tell()

    def write_row_group(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Writes the batches, which are of the layout's schema or have codes for its texts, as one row group."""
        table = coded_table(batches, self._schema)
        if self._casts is not None:
            table = table.cast(self._casts)
        for column in self._floats:
            self._nan_counts[column.field_id] += _nan_count(table, column)
        assert self._writer is not None
        self._writer.write_table(table, row_group_size=table.num_rows)

    def finish(
        self,
        content: Content,
        spec_id: int,
        partition: tuple[Any, ...],
        equality_ids: tuple[int, ...] | None = None,
        sort_order_id: int | None = None,
    ) -> ContentFile:
        """Closes the file, which is durable then, and returns its manifest entry."""
        assert self._writer is not None
        self._writer.add_key_value_metadata({SCHEMA_KEY: self._layout.schema_json})
        if self._layout.variants:
            self._sink.hold()
        self._writer.close()
        if self._layout.variants:
            self._sink.release(with_variants(self._sink.held, self._layout.variants))
        size = self._sink.tell()
        self._sink.finish()
        (footer,) = self._footers
        metrics = file_metrics(footer, self._layout.columns, self._layout.modes, self._nan_counts)
        return ContentFile(
            content=content,
            file_path=self.location,
            file_format="PARQUET",
            spec_id=spec_id,
            partition=partition,
            record_count=footer.num_rows,
            file_size_in_bytes=size,
            column_sizes=metrics.column_sizes,
            value_counts=metrics.value_counts,
            null_value_counts=metrics.null_value_counts,
            nan_value_counts=metrics.nan_value_counts,
            lower_bounds=metrics.lower_bounds,
            upper_bounds=metrics.upper_bounds,
            split_offsets=split_offsets(footer),
            equality_ids=equality_ids,
            sort_order_id=sort_order_id,
        )

    def abort(self) -> None:
        """Deletes the file, in whatever state it is."""
        self._sink.discard()
        if self._writer is not None:
            # Otherwise it would write its footer when it is garbage collected.
            with suppress(Exception):
                self._writer.close()
        with suppress(Exception):
            self._store.delete(self.location)


class _Sink(io.RawIOBase):
    """The output of pyarrow's writer into the store; writes after `discard` are dropped.

    Otherwise a late write could hit a file descriptor that is another file's by then.
    """

    def __init__(self, output: BinaryIO) -> None:
        super().__init__()
        self._output: BinaryIO | None = output
        self._position = 0
        self._held: bytearray | None = None

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    @property
    def held(self) -> bytes:
        """The bytes written since `hold`."""
        return bytes(self._held or b"")

    def hold(self) -> None:
        """Keeps all later bytes in memory until `release`."""
        self._held = bytearray()

    def release(self, data: bytes) -> None:
        """Writes `data` in place of the bytes in memory."""
        self._position -= len(self.held)
        self._held = None
        self.write(data)

    def write(self, data: Any) -> int:
        if self._held is not None:
            self._held += data
        elif self._output is not None:
            self._output.write(data)
        self._position += len(data)
        return len(data)

    def finish(self) -> None:
        """Closes the output, which makes the file durable."""
        output, self._output = self._output, None
        assert output is not None
        output.close()

    def discard(self) -> None:
        """Closes the output and ignores errors, such as those of a full disk."""
        output, self._output = self._output, None
        if output is not None:
            with suppress(Exception):
                output.close()


def _parquet_writer(
    sink: Any,
    layout: ParquetLayout,
    schema: pa.Schema,
    encodings: Encodings,
    footers: list[pq.FileMetaData],
    rows: int,
    size: int,
) -> pq.ParquetWriter:
    filters = writer_options(layout.bloom_filters, layout.bloom_filter_bytes, rows)
    return pq.ParquetWriter(
        sink,
        schema,
        version="2.6",
        compression=layout.compression,
        compression_level=layout.compression_level,
        use_dictionary=list(encodings.dictionary),
        column_encoding=dict.fromkeys(encodings.delta, "DELTA_BINARY_PACKED"),
        # As Iceberg: decimals of up to 9 digits in 32 bits, of up to 18 in 64.
        store_decimal_as_integer=True,
        store_schema=False,
        metadata_collector=footers,
        **layout.chunks.writer_options(rows, size),
        **({"bloom_filter_options": filters} if filters else {}),
    )


def _nan_count(table: pa.Table, column: ParquetColumn) -> int:
    values = table.column(column.indices[0])
    if len(column.indices) > 1:
        values = pc.struct_field(values, list(column.indices[1:]))
    return int(pc.sum(pc.is_nan(values)).as_py() or 0)


def split_offsets(footer: pq.FileMetaData) -> tuple[int, ...]:
    """The offset in bytes of each row group of a file."""
    return tuple(_start(footer.row_group(index)) for index in range(footer.num_row_groups))


def _start(group: Any) -> int:
    first = group.column(0)
    return int(first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset)
