"""The manifest entry of a data file that another program has written.

Of Parquet it has the bounds, counts and sizes in the footer; of ORC and Avro only the number of rows. Nothing is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.spec.avro.avro_arrow import arrow_schema
from sqlext.spec.avro.avro_file import decode_header, decode_schema
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.partition_folder import stored_value
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import IdentityTransform, VoidTransform
from sqlext.storage.file_io import FileIO
from sqlext.write.existing.existing_metrics import ColumnRange, column_range, existing_metrics
from sqlext.write.existing.existing_schema import MatchedLeaf, SchemaMismatch, match
from sqlext.write.metrics import MetricsConfig
from sqlext.write.parquet_file import split_offsets

FORMATS = frozenset({"PARQUET", "ORC", "AVRO"})

_KIND = "data file"
_UNREAD_CODECS = frozenset({"BROTLI", "LZO"})


@dataclass(frozen=True, slots=True)
class ExistingFile:
    """A file of a listing, its size in bytes; `folder` has the partition values in its path, as texts by column."""

    location: str
    size: int
    file_format: str
    folder: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class TableShape:
    """What files are matched to, and the partition spec that they are added under; `is_own` as in `match`."""

    schema: Schema
    spec: PartitionSpec
    mapping: NameMapping
    metrics: MetricsConfig
    is_own: bool = False


def content_file(io: FileIO, file: ExistingFile, table: TableShape) -> ContentFile:
    """The file's manifest entry.

    Raises Misfit for a file that the table's readers would misread, CorruptionError or NotFoundError naming it.
    """
    told = _told(file, table)
    head = file_head(io, file.location, file.file_format)
    if head.footer is not None:
        _require_readable_codec(head.footer)
    leaves = match(head.schema, table.schema, table.mapping.fields, frozenset(told), head.instants, is_own=table.is_own)
    _require_not_null(table.schema, head, leaves, told)
    partition = tuple(_partition_value(field, table.schema, told, head, leaves) for field in table.spec.fields)
    added = ContentFile(
        content=Content.DATA,
        file_path=file.location,
        file_format=file.file_format,
        spec_id=table.spec.spec_id,
        partition=partition,
        record_count=head.rows,
        file_size_in_bytes=file.size,
    )
    return added if head.footer is None else _with_metrics(added, head.footer, leaves, table)


def _with_metrics(
    file: ContentFile, footer: pq.FileMetaData, leaves: Sequence[MatchedLeaf], table: TableShape
) -> ContentFile:
    modes = table.metrics.modes(table.schema, [leaf.field_id for leaf in leaves])
    metrics = existing_metrics(footer, leaves, modes)
    return replace(
        file,
        column_sizes=metrics.column_sizes,
        value_counts=metrics.value_counts,
        null_value_counts=metrics.null_value_counts,
        lower_bounds=metrics.lower_bounds,
        upper_bounds=metrics.upper_bounds,
        split_offsets=split_offsets(footer),
    )


def _require_readable_codec(footer: pq.FileMetaData) -> None:
    groups = (footer.row_group(index) for index in range(footer.num_row_groups))
    for group in groups:
        codecs = {group.column(place).compression for place in range(group.num_columns)}
        if codecs & _UNREAD_CODECS:
            raise SchemaMismatch(f"it is compressed as {min(codecs & _UNREAD_CODECS)}, which Spark does not read")


@dataclass(frozen=True, slots=True)
class FileHead:
    """A file's schema and number of rows, and the properties in its footer or header; `footer` is Parquet's only,
    `instants` as in `match`."""

    schema: pa.Schema
    rows: int
    properties: Mapping[bytes, bytes]
    footer: pq.FileMetaData | None = None
    instants: frozenset[int] = frozenset()


def file_head(io: FileIO, location: str, file_format: str) -> FileHead:
    """Of a file of one of `FORMATS`. Raises CorruptionError or NotFoundError naming it."""
    try:
        return _READERS[file_format](io, location)
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=location, kind=_KIND) from error
    except (pa.ArrowException, OSError, LookupError, ValueError, EOFError) as error:
        raise CorruptionError("CORRUPT_FILE", path=location, kind=_KIND, reason=error) from error


def _parquet(io: FileIO, location: str) -> FileHead:
    with io.open_input(location) as source, pq.ParquetFile(source) as file:
        leaves = (file.schema.column(index) for index in range(len(file.schema)))
        instants = frozenset(place for place, leaf in enumerate(leaves) if leaf.physical_type == "INT96")
        schema, footer = file.schema_arrow, file.metadata
        properties = {**(footer.metadata or {}), **(schema.metadata or {})}
        return FileHead(schema, footer.num_rows, properties, footer, instants)


def _orc(io: FileIO, location: str) -> FileHead:
    with io.open_input(location) as source:
        file = orc.ORCFile(source)
        schema = pa.schema([_without_nanos(field) for field in file.schema])
        return FileHead(schema, file.nrows, dict(file.metadata or {}))


def _without_nanos(field: pa.Field) -> pa.Field:
    """Timestamps in microseconds: those of ORC have nanoseconds, which readers truncate."""
    if pa.types.is_timestamp(field.type):
        return field.with_type(pa.timestamp("us", field.type.tz))
    return field


def _avro(io: FileIO, location: str) -> FileHead:
    with io.open_input(location) as source:
        data = source.read()
    rows = sum(block.num_records for block in fastavro.block_reader(BytesIO(data)))
    properties = {name.encode(): value for name, value in decode_header(data)[0].items()}
    return FileHead(arrow_schema(decode_schema(data)), rows, properties)


_READERS: Mapping[str, Callable[[FileIO, str], FileHead]] = {"PARQUET": _parquet, "ORC": _orc, "AVRO": _avro}


def _told(file: ExistingFile, table: TableShape) -> Mapping[int, Any]:
    """The stored values in the file's path, by field id. Raises Misfit for text that is no value of the column."""
    told = {}
    for field in table.spec.fields:
        source = table.schema.field_or_none(field.source_id)
        if source is None or not isinstance(field.transform, IdentityTransform):
            continue
        name = next((name for name in (table.schema.column_name(source.id), field.name) if name in file.folder), None)
        if name is None:
            continue
        try:
            told[source.id] = stored_value(source.type, file.folder[name])
        except ValueError as error:
            raise SchemaMismatch(
                f"its folder {name}={file.folder[name]} has no value of type {source.type}: {error}"
            ) from None
    return told


def _require_not_null(schema: Schema, head: FileHead, leaves: Sequence[MatchedLeaf], told: Mapping[int, Any]) -> None:
    """Raises Misfit for nulls in NOT NULL columns; without counts, for columns that the file declares nullable."""
    for field_id, value in told.items():
        if value is None and schema.field(field_id).required:
            raise SchemaMismatch(f"its folder has null for {schema.column_name(field_id)}, which is NOT NULL")
    for leaf in leaves:
        if not leaf.required:
            continue
        nulls = None if head.footer is None else column_range(head.footer, leaf).nulls
        if nulls is None and head.rows and leaf.nullable:
            raise SchemaMismatch(
                f"it does not count the nulls of {schema.column_name(leaf.field_id)}, which is NOT NULL"
            )
        if nulls:
            raise SchemaMismatch(f"it has {nulls} nulls in {schema.column_name(leaf.field_id)}, which is NOT NULL")


def _partition_value(
    field: PartitionField, schema: Schema, told: Mapping[int, Any], head: FileHead, leaves: Sequence[MatchedLeaf]
) -> Any:
    """The partition value of all rows, from the path, else from the source column's limits. Raises Misfit for none."""
    leaf = next((leaf for leaf in leaves if leaf.field_id == field.source_id and not leaf.repeated), None)
    known = None if leaf is None or head.footer is None else column_range(head.footer, leaf)
    if isinstance(field.transform, VoidTransform) or not head.rows:
        return told.get(field.source_id)
    if field.source_id in told:
        value = told[field.source_id]
        if leaf is not None and (known is None or not _is_only(known, value)):
            name = schema.column_name(field.source_id)
            raise SchemaMismatch(f"its column {name} may have other values than {value}, that of its folder")
        return value
    if leaf is None:
        return None
    shared = None if known is None else _shared(field, leaf, known)
    if shared is None:
        raise SchemaMismatch(
            f"its folder and its statistics of {schema.column_name(leaf.field_id)} give no single {field.name}"
        )
    return shared[0]


def _is_only(known: ColumnRange, value: Any) -> bool:
    if value is None:
        return known.nulls == known.values
    return known.nulls == 0 and known.limits == (value, value)


def _shared(field: PartitionField, leaf: MatchedLeaf, known: ColumnRange) -> tuple[Any] | None:
    """The one partition value of all rows, in a tuple; None if they have several or it is unknown."""
    if known.nulls == known.values:
        return (None,)
    if known.nulls != 0 or known.limits is None:
        return None
    lower, upper = known.limits
    if lower != upper and not field.transform.preserves_order:
        return None
    low, high = (field.transform.apply(leaf.type, limit) for limit in (lower, upper))
    return (low,) if low == high else None
