"""What the files in a table's folder tell of the table: rows, schema, partitioning, deleted positions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from sqlext.command.doctor.found_content import FoundKind, found_content
from sqlext.command.doctor.found_partitioning import FoundFile, FoundPartitioning, folders_of, found_partitioning
from sqlext.command.doctor.found_schema import found_schema, match_own
from sqlext.errors import CorruptionError, NotFoundError, SqlextError, StorageError, UnsupportedError
from sqlext.scan.deletes.position_delete import read_position_deletes
from sqlext.spec.manifests import puffin
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.deletion_vector import BLOB_TYPE, REFERENCED_DATA_FILE, decode_deletion_vector
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.name_mapping import NAME_MAPPING_PROPERTY, NameMapping
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.spec.version_feature import require_version
from sqlext.storage.file_io import FileIO, FileStatus
from sqlext.storage.location import is_below, join, same_place
from sqlext.write.existing.existing_file import ExistingFile, FileHead, TableShape, content_file
from sqlext.write.existing.existing_schema import SchemaMismatch, has_field_ids
from sqlext.write.metrics import MetricsConfig
from sqlext.write.parquet_file import SCHEMA_KEY

_PARQUET, _PUFFIN, _UNREAD = ".parquet", ".puffin", (".orc", ".avro")
DAMAGED = (pa.ArrowException, OSError, ValueError, KeyError, IndexError)


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The data files below a folder, in partitions of `specs`, of which the last is the newest; deleted positions by
    data file; the files that are left out and the partition fields that are not told, each with the reason."""

    schema: Schema
    files: tuple[ContentFile, ...]
    specs: tuple[PartitionSpec, ...]
    positions: Mapping[str, BitMap64]
    format_version: int
    next_row_id: int
    properties: Mapping[str, str]
    untold: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Those of the files, without the deleted ones."""
        return sum(file.record_count for file in self.files) - sum(map(len, self.positions.values()))


@dataclass(slots=True)
class _Listed:
    """The files of a folder by their kinds, oldest first, and what their heads say."""

    data: list[FileStatus] = field(default_factory=list)
    schemas: list[Schema] = field(default_factory=list)
    heads: dict[str, FileHead] = field(default_factory=dict)
    deletes: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    next_row_id: int | None = None


def found_files(io: FileIO, location: str) -> FoundFiles:
    """What the Parquet and Puffin files below `location` tell.

    Raises StorageError; NotFoundError NO_TABLE_AT_LOCATION unless a data file has the table's schema in its footer, as
    files have that sqlext, or Iceberg's library, has written.
    """
    listed = _listed(io, location)
    if not listed.schemas:
        reason = "no Parquet file in it has the schema of a table in its footer"
        raise NotFoundError("NO_TABLE_AT_LOCATION", location=location, reason=reason)
    schema = found_schema(listed.schemas, listed.heads.values())
    files = list(_matched(io, schema, listed))
    partitioning = _partitioning(io, schema, location, files, listed)
    placed = [_placed(file, partitioning) for file in files]
    positions = _positions(io, files, listed)
    lacks_ids = any(not has_field_ids(listed.heads[file.file_path].schema) for file in files)
    needs_3 = bool(listed.vectors) or listed.next_row_id is not None or _needs_version_3(schema)
    return FoundFiles(
        schema,
        tuple(placed),
        partitioning.specs,
        positions,
        3 if needs_3 else 2,
        listed.next_row_id or 0,
        {NAME_MAPPING_PROPERTY: NameMapping.of_schema(schema).to_text()} if lacks_ids else {},
        partitioning.untold,
        tuple(listed.left_out),
    )


def _listed(io: FileIO, location: str) -> _Listed:
    listed = _Listed()
    for status in sorted(io.list(location), key=lambda one: (one.modified_ms, one.path)):
        path = status.path
        if is_hidden(path, location):
            continue
        if path.endswith(_UNREAD):
            listed.left_out.append(f"{path} is no Parquet file")
        elif path.endswith((_PARQUET, _PUFFIN)):
            try:
                _look_at(io, status, listed)
            except (CorruptionError, *DAMAGED) as error:
                listed.left_out.append(f"{path} cannot be read: {_reason(error)}")
    return listed


def _look_at(io: FileIO, status: FileStatus, listed: _Listed) -> None:
    found = found_content(io, status.path, status.size)
    if found.kind == FoundKind.VECTORS:
        listed.vectors.append(status.path)
        return
    assert found.head is not None
    assert found.head.footer is not None
    if found.kind == FoundKind.POSITIONS:
        listed.deletes.append(status.path)
    elif found.kind == FoundKind.EQUALITY:
        listed.left_out.append(f"{status.path} has {found.head.rows} equality deletes, whose rows return")
    else:
        listed.data.append(status)
        listed.heads[status.path] = found.head
        schema = found.head.properties.get(SCHEMA_KEY.encode("ascii"))
        if schema is not None:
            listed.schemas.append(Schema.from_json(json.loads(schema)))
        highest = _highest_row_id(found.head.footer)
        if highest is not None:
            listed.next_row_id = max(listed.next_row_id or 0, highest + 1)


def _highest_row_id(footer: pq.FileMetaData) -> int | None:
    """Of rows that have been moved to the file with their ids (spec: Row Lineage)."""
    highest = None
    for group in range(footer.num_row_groups):
        row_group = footer.row_group(group)
        for place in range(row_group.num_columns):
            column = row_group.column(place)
            known = column.statistics
            if column.path_in_schema == ROW_ID.name and known is not None and known.has_min_max:
                highest = max(highest or 0, int(known.max))
    return highest


def _matched(io: FileIO, schema: Schema, listed: _Listed) -> Iterator[ContentFile]:
    shape = TableShape(
        schema, UNPARTITIONED, NameMapping.of_schema(schema), MetricsConfig.from_properties({}), is_own=True
    )
    for status in listed.data:
        try:
            yield content_file(io, ExistingFile(status.path, status.size, "PARQUET", {}), shape)
        except StorageError:
            raise
        except (SchemaMismatch, SqlextError) as error:
            listed.left_out.append(f"{status.path}: {error}")


def _partitioning(
    io: FileIO, schema: Schema, location: str, files: Sequence[ContentFile], listed: _Listed
) -> FoundPartitioning:
    found = []
    for file in files:
        leaves = match_own(listed.heads[file.file_path], schema)
        flat = {leaf.field_id: leaf for leaf in leaves if not leaf.repeated}
        if file.record_count:
            found.append(FoundFile(file.file_path, folders_of(file.file_path, location), flat))
    try:
        return found_partitioning(io, schema, found)
    except DAMAGED as error:
        # What cannot be read says nothing of its partition.
        return FoundPartitioning({}, (UNPARTITIONED,), (f"all fields, as a file cannot be read: {error}",))


def _placed(file: ContentFile, partitioning: FoundPartitioning) -> ContentFile:
    """The file in its partition; one without rows is in any."""
    last = partitioning.specs[-1]
    spec_id, partition = partitioning.partitions.get(file.file_path, (last.spec_id, (None,) * len(last.fields)))
    return replace(file, spec_id=spec_id, partition=partition)


def _positions(io: FileIO, files: Sequence[ContentFile], listed: _Listed) -> Mapping[str, BitMap64]:
    """Positions of rows that were deleted: a row that is deleted once stays so, as its file is never written again."""
    rows = {same_place(file.file_path): file for file in files}
    deleted: dict[str, BitMap64] = {}
    read: Sequence[tuple[str, Callable[[str], Mapping[str, BitMap64]]]] = (
        *((path, lambda path: read_position_deletes(io, path, "PARQUET")) for path in listed.deletes),
        *((path, lambda path: _vectors(io, path)) for path in listed.vectors),
    )
    for path, positions_in in read:
        try:
            told = positions_in(path)
        except StorageError:
            raise
        except (SqlextError, *DAMAGED) as error:
            listed.left_out.append(f"{path} has deletes, whose rows return, and cannot be read: {_reason(error)}")
            continue
        for name, positions in told.items():
            file = rows.get(same_place(name))
            if file is not None and positions and positions.max() < file.record_count:
                deleted[file.file_path] = deleted.get(file.file_path, BitMap64()) | positions
    return deleted


def _vectors(io: FileIO, path: str) -> dict[str, BitMap64]:
    """The deletion vectors of a Puffin file; none of a file of statistics. Raises ValueError or KeyError for a damaged
    file."""
    data = io.read(path)
    if puffin.checksum_state(data) == ChecksumState.WRONG:
        raise ValueError("it has other bytes than those that were written")
    found: dict[str, BitMap64] = {}
    for blob in puffin.decode_blobs(data):
        if blob.type == BLOB_TYPE:
            bitmap = decode_deletion_vector(data[blob.offset : blob.offset + blob.length])
            name = blob.properties[REFERENCED_DATA_FILE]
            found[name] = found.get(name, BitMap64()) | BitMap64.deserialize(bitmap)
    return found


def _reason(error: Exception) -> object:
    return error.parameters.get("reason", error) if isinstance(error, SqlextError) else error


def _needs_version_3(schema: Schema) -> bool:
    try:
        require_version(schema, 2)
    except UnsupportedError:
        return True
    return False


def is_hidden(path: str, location: str) -> bool:
    """Whether it is in a folder of metadata, or in one whose name says that it holds no rows of the table."""
    if is_below(join(location, "metadata"), path):
        return True
    parts = same_place(path)[len(same_place(location)) :].strip("/").split("/")
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)
