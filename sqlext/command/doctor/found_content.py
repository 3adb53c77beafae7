"""What a file in a table's folders says of itself: its kind, and the entry that it has in a manifest of a spec.

Delete files of Iceberg's library say in the footer what they are and which columns they compare; those of sqlext have
the columns of the key alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from sqlext.command.doctor.found_partitioning import FoundFile, folders_of, partition_of
from sqlext.errors import CorruptionError
from sqlext.scan.deletes.position_delete import FILE_PATH_ID, POS_ID, read_position_deletes
from sqlext.spec.manifests import puffin
from sqlext.spec.manifests.content_file import PUFFIN, Content, ContentFile
from sqlext.spec.manifests.deletion_vector import BLOB_TYPE, CARDINALITY, REFERENCED_DATA_FILE
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.storage.file_io import FileIO
from sqlext.write.delete_writer import POSITION_DELETE_SCHEMA
from sqlext.write.existing.existing_file import ExistingFile, FileHead, TableShape, content_file, file_head
from sqlext.write.existing.existing_schema import match, stored_field_id
from sqlext.write.metrics import FULL, MetricsConfig

# In the footers of delete files that Iceberg's library writes, and in the names of those of sqlext.
_DELETE_TYPE, _DELETE_FIELDS, _DELETES = b"delete-type", b"delete-field-ids", "-deletes"
_FORMATS = {".parquet": "PARQUET", ".orc": "ORC", ".avro": "AVRO", ".puffin": PUFFIN}


class FoundKind(Enum):
    """What a file holds."""

    DATA = Content.DATA
    POSITIONS = Content.POSITION_DELETES
    EQUALITY = Content.EQUALITY_DELETES
    VECTORS = PUFFIN


@dataclass(frozen=True, slots=True)
class FoundContent:
    """A file with its kind; `head` is None of a Puffin file, which may also be one of statistics."""

    path: str
    size: int
    file_format: str
    kind: FoundKind
    head: FileHead | None


def format_of(path: str) -> str | None:
    """The format of a content file by its name; None for a name of another file."""
    return next((found for ending, found in _FORMATS.items() if path.endswith(ending)), None)


def found_content(io: FileIO, path: str, size: int) -> FoundContent:
    """Reads what a file of one of the formats says of itself. Raises CorruptionError or NotFoundError naming it, or as
    pyarrow."""
    file_format = format_of(path) or PUFFIN
    if file_format in ("PARQUET", PUFFIN):
        with io.open_input(path) as source:
            if file_format == PUFFIN or source.read(len(puffin.MAGIC)) == puffin.MAGIC:
                # Iceberg's Flink writer names files of deletion vectors like data files.
                return FoundContent(path, size, PUFFIN, FoundKind.VECTORS, None)
    head = file_head(io, path, file_format)
    kind = FoundKind.DATA
    if {FILE_PATH_ID, POS_ID} <= {stored_field_id(column) for column in head.schema}:
        kind = FoundKind.POSITIONS
    elif _DELETE_TYPE in head.properties or _DELETES in path.rpartition("/")[2]:
        kind = FoundKind.EQUALITY
    return FoundContent(path, size, file_format, kind, head)


@dataclass(frozen=True, slots=True)
class PositionDeletes:
    """The entry of position deletes, whose spec and partition are still to be told by those of the data files that they
    are of."""

    entry: ContentFile
    data_files: tuple[str, ...]

    def placed(self, spec: PartitionSpec, data: Mapping[str, Any]) -> ContentFile | None:
        """The entry in a manifest of `spec`; `data` has the spec id and partition of each data file by its path. None
        if it has none of the data files, or if they are in several partitions or in another spec."""
        places = {data[path] for path in self.data_files if path in data}
        if len(places) != 1:
            return None
        ((spec_id, partition),) = places
        return replace(self.entry, spec_id=spec_id, partition=partition) if spec_id == spec.spec_id else None


def content_file_in(
    io: FileIO, found: FoundContent, metadata: TableMetadata, spec: PartitionSpec, root: str
) -> ContentFile:
    """The entry of a file of rows or equality deletes in a manifest of `spec`; `root` is the folder in which partitions
    are. Raises ValueError for a file whose rows are in no single partition of the spec, or that does not fit the table,
    and CorruptionError, NotFoundError or StorageError."""
    if found.kind == FoundKind.EQUALITY:
        return _equality_deletes(io, found, metadata, spec, root)
    return _data_file(io, found, metadata, spec, root)


def position_deletes(io: FileIO, found: FoundContent) -> tuple[PositionDeletes, ...]:
    """The entry of a position-delete file, or of a Puffin file one for each deletion vector. Raises CorruptionError,
    NotFoundError or StorageError."""
    return tuple(_vectors(io, found)) if found.kind == FoundKind.VECTORS else (_position_deletes(io, found),)


def _data_file(io: FileIO, found: FoundContent, metadata: TableMetadata, spec: PartitionSpec, root: str) -> ContentFile:
    schema = _schema_of(metadata, spec)
    metrics = MetricsConfig.from_properties(metadata.properties)
    return _placed(io, found, spec, root, _shape(metadata, schema, metrics), schema)


def _equality_deletes(
    io: FileIO, found: FoundContent, metadata: TableMetadata, spec: PartitionSpec, root: str
) -> ContentFile:
    assert found.head is not None
    named = found.head.properties.get(_DELETE_FIELDS)
    columns = {id for column in found.head.schema if (id := stored_field_id(column)) is not None}
    ids = tuple(sorted(columns) if named is None else map(int, named.decode("ascii").split(",")))
    whole = _schema_of(metadata, spec)
    schema = replace(
        whole, fields=tuple(field for field in whole.fields if field.id in columns), identifier_field_ids=()
    )
    shape = _shape(metadata, schema, MetricsConfig.from_properties(metadata.properties))
    file = _placed(io, found, spec, root, shape, whole)
    return replace(file, content=Content.EQUALITY_DELETES, equality_ids=ids)


def _placed(
    io: FileIO, found: FoundContent, spec: PartitionSpec, root: str, shape: TableShape, schema: Schema
) -> ContentFile:
    """The file in its partition, whose source columns `schema` has."""
    head = found.head
    assert head is not None
    file = content_file(io, ExistingFile(found.path, found.size, found.file_format, {}), shape)
    if spec.is_unpartitioned:
        partition: tuple[Any, ...] = (None,) * len(spec.fields)
    elif head.footer is None:
        raise ValueError(f"the partition of a file of the format {found.file_format} is not told by its rows")
    else:
        leaves = match(head.schema, shape.schema, shape.mapping.fields, instants=head.instants, is_own=True)
        flat = {leaf.field_id: leaf for leaf in leaves if not leaf.repeated}
        placed = FoundFile(found.path, folders_of(found.path, root), flat)
        partition = partition_of(io, schema, spec, placed)
    return replace(file, spec_id=spec.spec_id, partition=partition)


def _position_deletes(io: FileIO, found: FoundContent) -> PositionDeletes:
    paths = sorted(read_position_deletes(io, found.path, found.file_format))
    mapping = NameMapping.of_schema(POSITION_DELETE_SCHEMA)
    # Readers find the data file by the bounds of the paths, which are not truncated.
    shape = TableShape(POSITION_DELETE_SCHEMA, UNPARTITIONED, mapping, MetricsConfig(FULL), is_own=True)
    file = content_file(io, ExistingFile(found.path, found.size, found.file_format, {}), shape)
    referenced = paths[0] if len(paths) == 1 else None
    return PositionDeletes(
        replace(file, content=Content.POSITION_DELETES, referenced_data_file=referenced), tuple(paths)
    )


def _vectors(io: FileIO, found: FoundContent) -> Iterator[PositionDeletes]:
    content = io.read(found.path)
    try:
        if puffin.checksum_state(content) == ChecksumState.WRONG:
            raise ValueError("it has other bytes than those that were written")
        blobs = [blob for blob in puffin.decode_blobs(content) if blob.type == BLOB_TYPE]
        told = [(blob, blob.properties[REFERENCED_DATA_FILE], int(blob.properties[CARDINALITY])) for blob in blobs]
    except (ValueError, LookupError, TypeError) as error:
        raise CorruptionError("CORRUPT_FILE", path=found.path, kind="Puffin file", reason=error) from error
    for blob, path, count in told:
        entry = ContentFile(
            content=Content.POSITION_DELETES,
            file_path=found.path,
            file_format=PUFFIN,
            spec_id=UNPARTITIONED.spec_id,
            partition=(),
            record_count=count,
            file_size_in_bytes=found.size,
            referenced_data_file=path,
            content_offset=blob.offset,
            content_size_in_bytes=blob.length,
        )
        yield PositionDeletes(entry, (path,))


def _schema_of(metadata: TableMetadata, spec: PartitionSpec) -> Schema:
    """The newest schema that has all columns of the spec. Raises ValueError if none has."""
    sources = {field.source_id for field in spec.fields if str(field.transform) != "void"}
    for schema in (metadata.schema(), *metadata.schemas[::-1]):
        if sources <= set(schema.field_ids):
            return schema
    raise ValueError(f"no schema has all columns of partition spec {spec.spec_id}")


def _shape(metadata: TableMetadata, schema: Schema, metrics: MetricsConfig) -> TableShape:
    mapping = NameMapping.of_table(metadata.properties) or NameMapping.of_schema(schema)
    return TableShape(schema, UNPARTITIONED, mapping, metrics, is_own=True)
