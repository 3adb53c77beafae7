"""The settings of a table's writes, as plain values that are sent to executors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from sqlext.errors import AnalysisError
from sqlext.properties import (
    DELETE_GRANULARITY,
    PARQUET_COMPRESSION,
    PARQUET_COMPRESSION_LEVEL,
    PARQUET_ROW_GROUP_ROWS,
    PARQUET_ROW_GROUP_SIZE_BYTES,
    PARQUET_ROW_GROUP_UNCOMPRESSED,
    STATISTICS_COLUMN_PREFIX,
    TARGET_FILE_SIZE_BYTES,
    WRITE_BUFFER_SIZE,
    WRITE_BUFFER_SPILLABLE,
    require_writable,
)
from sqlext.spec.constraint import RowRule
from sqlext.spec.identity_column import identity_columns
from sqlext.spec.manifests.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortOrder
from sqlext.spec.transform import BucketTransform, UnknownTransform
from sqlext.spec.types import UuidType
from sqlext.storage.file_io import FileIO, LocalFileIO
from sqlext.storage.location import data_location
from sqlext.write.bloom_filters import BloomFilters
from sqlext.write.column_chunk import ColumnChunks
from sqlext.write.file_layout import FileLayout
from sqlext.write.metrics import MetricsConfig
from sqlext.write.parquet_file import LEVELLED_CODECS

_ANY_NUMBER = 2**62


@dataclass(frozen=True)
class WritePlan:
    """One operation's writes into one table.

    New rows are partitioned by `spec`; `specs` are all specs of the table, since a delete file lies in the partition of
    its data file. Sizes are bytes: of a file on disk, and at most of a row group, encoded or, for
    `uncompressed_row_groups`, before compression. `row_group_rows` are the most rows of a row group; None leaves their
    number to the writer. `operation_id` is in the name of every file. The rows' column
    `__violated` has indices into `rules`. A task keeps up to `buffer_size` bytes of rows in memory; with `spills`
    further ones go to its local disk. `io` is the store of the files, as executors reach it. With `has_origins` the
    rows have `ORIGIN_COLUMNS`, and the writer tells the origins of each file's rows.
    """

    table_name: str
    schema: Schema
    spec: PartitionSpec
    specs: tuple[PartitionSpec, ...]
    format_version: int
    data_location: str
    operation_id: str
    sort_order_id: int
    target_file_size: int
    row_group_size: int
    compression: str
    compression_level: int | None
    metrics: MetricsConfig
    layout: FileLayout
    delete_granularity: str
    rules: tuple[RowRule, ...] = ()
    bloom_filters: BloomFilters = field(default_factory=BloomFilters)
    chunks: ColumnChunks = field(default_factory=ColumnChunks)
    row_group_rows: int | None = PARQUET_ROW_GROUP_ROWS.default
    uncompressed_row_groups: bool = PARQUET_ROW_GROUP_UNCOMPRESSED.default
    buffer_size: int = WRITE_BUFFER_SIZE.default
    spills: bool = WRITE_BUFFER_SPILLABLE.default
    io: FileIO = field(default_factory=LocalFileIO, compare=False)
    has_origins: bool = False

    @property
    def identifier_field_ids(self) -> tuple[int, ...]:
        return self.schema.identifier_field_ids

    def file_location(self, spec_id: int, partition: tuple[object, ...], name: str) -> str:
        """The location of the file `name` in a partition."""
        spec = next(spec for spec in self.specs if spec.spec_id == spec_id)
        return self.layout.location(self.data_location, spec.partition_path(self.schema, partition), name)

    def with_row_ids(self) -> WritePlan:
        """The plan for rows with their row id after the table's columns, null in a new row."""
        return replace(self, schema=replace(self.schema, fields=(*self.schema.fields, ROW_ID)))

    def with_row_lineage(self) -> WritePlan:
        """The plan for rows with `_row_id` and `_last_updated_sequence_number` after the table's columns, each null
        where it is inherited (spec: Row Lineage)."""
        return replace(self, schema=replace(self.schema, fields=(*self.schema.fields, ROW_ID, LAST_UPDATED)))

    def with_origins(self) -> WritePlan:
        """The plan for rows that come from other data files, with `ORIGIN_COLUMNS` as the last ones."""
        return replace(self, has_origins=True)

    @classmethod
    def from_metadata(
        cls, metadata: TableMetadata, operation_id: str, table_name: str, rules: Sequence[RowRule] = ()
    ) -> WritePlan:
        """The plan of a write on the table's current schema, spec, sort order and properties.

        Raises AnalysisError INVALID_TABLE_PROPERTY for a value that does not parse or asks for a feature that sqlext
        lacks.
        """
        properties = metadata.properties
        require_writable(properties)
        return cls(
            table_name=table_name,
            schema=metadata.schema(),
            spec=metadata.spec(),
            specs=metadata.partition_specs,
            format_version=metadata.format_version,
            data_location=data_location(metadata),
            operation_id=operation_id,
            sort_order_id=metadata.default_sort_order_id if can_sort(metadata.schema(), metadata.sort_order()) else 0,
            target_file_size=TARGET_FILE_SIZE_BYTES.of(properties),
            row_group_size=PARQUET_ROW_GROUP_SIZE_BYTES.of(properties),
            compression=PARQUET_COMPRESSION.of(properties),
            compression_level=_compression_level(PARQUET_COMPRESSION.of(properties), properties),
            metrics=_metrics(metadata),
            rules=tuple(rules),
            bloom_filters=BloomFilters.from_properties(properties),
            chunks=_chunks(metadata),
            row_group_rows=_row_group_rows(properties),
            uncompressed_row_groups=PARQUET_ROW_GROUP_UNCOMPRESSED.of(properties),
            layout=FileLayout.from_properties(properties),
            delete_granularity=DELETE_GRANULARITY.of(properties),
            buffer_size=WRITE_BUFFER_SIZE.of(properties),
            spills=WRITE_BUFFER_SPILLABLE.of(properties),
        )


def _metrics(metadata: TableMetadata) -> MetricsConfig:
    """The metrics that the properties ask for, and bounds of identity columns, by which a commit knows how far they
    have counted."""
    ids = identity_columns(metadata.properties)
    counted = [field.name for field in metadata.schema().fields if field.id in ids]
    return MetricsConfig.from_properties(metadata.properties).with_bounds(counted)


def _row_group_rows(properties: Mapping[str, str]) -> int | None:
    """As many as the bytes allow if only these are said."""
    if PARQUET_ROW_GROUP_SIZE_BYTES.name in properties:
        return PARQUET_ROW_GROUP_ROWS.of(properties) or _ANY_NUMBER
    return PARQUET_ROW_GROUP_ROWS.of(properties)


def _chunks(metadata: TableMetadata) -> ColumnChunks:
    """Raises AnalysisError for an identity column without statistics: its bounds tell how far it has counted."""
    chunks = ColumnChunks.from_properties(metadata.properties)
    ids = identity_columns(metadata.properties)
    for name in (one.name for one in metadata.schema().fields if one.id in ids):
        if not dict(chunks.statistics).get(name, True):
            raise AnalysisError(
                "INVALID_TABLE_PROPERTY",
                name=f"{STATISTICS_COLUMN_PREFIX}{name}",
                value="false",
                reason="the statistics of an identity column tell which values it has given",
                default="true",
            )
    return chunks


def _compression_level(codec: str, properties: Mapping[str, str]) -> int | None:
    """The level, None for the codec's default. Raises AnalysisError for a level that the codec lacks."""
    level = PARQUET_COMPRESSION_LEVEL.of(properties)
    if level in (None, -1) or codec not in LEVELLED_CODECS:
        return None
    lowest, highest = pa.Codec.minimum_compression_level(codec), pa.Codec.maximum_compression_level(codec)
    if not lowest <= level <= highest:
        raise AnalysisError(
            "INVALID_TABLE_PROPERTY",
            name=PARQUET_COMPRESSION_LEVEL.name,
            value=level,
            reason=f"{codec} has the levels {lowest} to {highest}",
            default="the codec's own",
        )
    return level


def can_sort(schema: Schema, order: SortOrder) -> bool:
    """Whether Spark can sort rows by `order`: not by unknown transforms, nor by buckets of uuids, which it has as
    texts."""
    return not any(
        isinstance(field.transform, UnknownTransform)
        or (isinstance(field.transform, BucketTransform) and isinstance(schema.field(field.source_id).type, UuidType))
        for field in order.fields
    )
