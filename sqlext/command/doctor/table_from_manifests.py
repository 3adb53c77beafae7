"""The metadata of a table whose metadata files are gone, from its manifest lists and manifests.

A manifest list has in its header the snapshot's id, parent and sequence number, a manifest the table's schema with its
key, and the partition spec. So the snapshots are as they were, with their rows, deletes and row ids. What only a
metadata file has is lost: the names of branches, tags, properties, sort orders, statistics.
"""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from sqlext.errors import CorruptionError, NotFoundError, StorageError
from sqlext.scan.checks.entry_shape import require_entry_shape, require_list_shape
from sqlext.scan.checks.totals import as_summary, totals_of
from sqlext.spec.avro import avro_file
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestContent, ManifestFile, decode_manifest, decode_manifest_list
from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.snapshot import Snapshot, SnapshotLogEntry
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.name_mapping import NAME_MAPPING_PROPERTY, NameMapping
from sqlext.spec.partition_spec import PartitionSpec, partition_fields_from_json
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.storage.file_io import FileIO, FileStatus
from sqlext.storage.in_threads import in_threads
from sqlext.storage.location import join, metadata_location
from sqlext.write.existing.existing_file import file_head
from sqlext.write.existing.existing_schema import has_field_ids

_LIST = re.compile(r"snap-[0-9]+-(?:[0-9]+-)?[^/]+\.avro")
FOUND_BRANCH = "found-"
"""How names begin of branches whose own names are lost; followed by the id of the snapshot."""


@dataclass(frozen=True, slots=True)
class FoundVersion:
    """The metadata, and the manifest lists that are left out since what they name cannot be read."""

    metadata: TableMetadata
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _List:
    """A manifest list that can be read."""

    path: str
    written_ms: int
    snapshot_id: int
    parent_id: int | None
    sequence_number: int
    format_version: int
    first_row_id: int | None
    manifests: tuple[ManifestFile, ...]


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What the header of a manifest says, the totals of its live files, and those that have data."""

    schema: Schema
    spec: PartitionSpec
    totals: Counter[str]
    data_files: tuple[ContentFile, ...]


def version_from_manifests(
    io: FileIO, location: str, table_uuid: str | None, clock: Callable[[], int], rng: Random
) -> FoundVersion | None:
    """The table at `location` with all snapshots that can be read whole; None if there is none.

    Main is at the one of the largest sequence number. Other snapshots that are no parent, as the heads of branches, of
    staged commits and of commits that failed, get branches. Raises StorageError.
    """
    folder = join(location, "metadata")
    lists = _lists(io, folder)
    manifests = _read_manifests(io, {manifest.path: manifest for one in lists for manifest in one.manifests})
    kept = {one.snapshot_id: one for one in lists if all(manifest.path in manifests for manifest in one.manifests)}
    left_out = [one.path for one in lists if one.snapshot_id not in kept]
    if not kept or not manifests:
        return None
    heads = _heads(kept.values())
    newest = max(heads, key=_age)
    # If it has no rows, no manifest of its own tells the schema.
    of_newest = newest.manifests or tuple(manifest for one in kept.values() for manifest in one.manifests)
    if not of_newest:
        return None
    youngest = manifests[max(of_newest, key=lambda one: (one.sequence_number, -one.content)).path]
    schema, spec = youngest.schema, youngest.spec
    schemas = {one.schema.schema_id: one.schema for one in manifests.values()} | {schema.schema_id: schema}
    specs = {one.spec.spec_id: one.spec for one in manifests.values()}
    version = max(one.format_version for one in lists)
    now_ms = max(clock(), *(one.written_ms for one in kept.values()))
    identity = table_uuid or str(uuid.UUID(int=rng.getrandbits(128), version=4))
    live = [file for manifest in newest.manifests for file in manifests[manifest.path].data_files]
    properties = _name_mapping(io, schema, live)
    empty = new_table_metadata(schema, spec, UNSORTED, location, properties, version, identity, now_ms)
    snapshots = [_snapshot(one, manifests, schema.schema_id) for one in sorted(kept.values(), key=_age)]
    return FoundVersion(
        replace(
            empty,
            schemas=tuple(schemas[id] for id in sorted(schemas)),
            last_column_id=max(one.highest_field_id for one in schemas.values()),
            partition_specs=tuple(specs[id] for id in sorted(specs)),
            last_partition_id=max(one.last_assigned_field_id for one in specs.values()),
            last_sequence_number=max(one.sequence_number for one in lists),
            snapshots=tuple(snapshots),
            current_snapshot_id=newest.snapshot_id,
            refs=_references(heads, newest),
            snapshot_log=(SnapshotLogEntry(newest.written_ms, newest.snapshot_id),),
            next_row_id=None if version < 3 else max(_end_of_row_ids(one) for one in lists),
        ),
        tuple(left_out),
    )


def with_later_snapshots(io: FileIO, metadata: TableMetadata, current_id: int | None) -> TableMetadata:
    """A version of a table with the snapshots that manifest lists tell of commits after it, as far as they have its
    schemas and specs. Main goes to the snapshot `current_id`, if it is one of them; other heads get branches. Raises
    StorageError."""
    lists = [
        one for one in _lists(io, metadata_location(metadata)) if one.sequence_number > metadata.last_sequence_number
    ]
    manifests = _read_manifests(io, {manifest.path: manifest for one in lists for manifest in one.manifests})
    known = {one.snapshot_id for one in metadata.snapshots}
    later: list[_List] = []
    for one in sorted(lists, key=_age):
        follows = one.parent_id in known if one.parent_id is not None else not known
        if follows and all(_is_of(metadata, manifests.get(manifest.path)) for manifest in one.manifests):
            known.add(one.snapshot_id)
            later.append(one)
    if not later:
        return metadata
    main = next((one for one in later if one.snapshot_id == current_id), None)
    others = [one for one in _heads(later) if one != main]
    refs = {f"{FOUND_BRANCH}{one.snapshot_id}": SnapshotReference(one.snapshot_id) for one in others}
    made = replace(
        metadata,
        last_sequence_number=max(one.sequence_number for one in later),
        last_updated_ms=max(metadata.last_updated_ms, *(one.written_ms for one in later)),
        snapshots=(*metadata.snapshots, *(_snapshot(one, manifests, metadata.current_schema_id) for one in later)),
        refs={**metadata.refs, **refs},
        next_row_id=None if metadata.next_row_id is None else max(metadata.next_row_id, *map(_end_of_row_ids, later)),
    )
    if main is None:
        return made
    before = metadata.refs.get(MAIN_BRANCH)
    head = SnapshotReference(main.snapshot_id) if before is None else replace(before, snapshot_id=main.snapshot_id)
    return replace(
        made,
        refs={**made.refs, MAIN_BRANCH: head},
        current_snapshot_id=main.snapshot_id,
        snapshot_log=(*metadata.snapshot_log, SnapshotLogEntry(made.last_updated_ms, main.snapshot_id)),
    )


def _is_of(metadata: TableMetadata, manifest: _Manifest | None) -> bool:
    """Whether the version has the manifest's schema and spec."""
    if manifest is None:
        return False
    schema = metadata.schemas_by_id().get(manifest.schema.schema_id)
    spec = metadata.specs_by_id().get(manifest.spec.spec_id)
    has_schema = schema is not None and schema.same_columns(manifest.schema)
    return has_schema and spec is not None and spec.same_fields(manifest.spec)


def _lists(io: FileIO, folder: str) -> list[_List]:
    """Those in the folder, one for each snapshot: of several attempts the last."""
    statuses = [one for one in io.list(folder) if _LIST.fullmatch(one.path.rpartition("/")[2])]
    found: dict[int, _List] = {}
    for one in in_threads(lambda status: _read_list(io, folder, status), statuses):
        if one is not None and (one.snapshot_id not in found or _age(found[one.snapshot_id]) < _age(one)):
            found[one.snapshot_id] = one
    return list(found.values())


def _age(one: _List) -> tuple[int, int, str]:
    return one.sequence_number, one.written_ms, one.path


def _read_list(io: FileIO, folder: str, status: FileStatus) -> _List | None:
    path = join(folder, status.path.rpartition("/")[2])
    try:
        data = io.read(path)
        if avro_file.checksum_state(data) == ChecksumState.WRONG:
            return None
        header, _ = avro_file.decode_header(data)
        manifests = tuple(decode_manifest_list(data, path))
        for manifest in manifests:
            require_list_shape(manifest)
        said = {name: value.decode("ascii") for name, value in header.items() if name in _SAID}
        parent_id, first_row_id = (said.get(name, "null") for name in ("parent-snapshot-id", "first-row-id"))
        return _List(
            path,
            status.modified_ms,
            int(said["snapshot-id"]),
            None if parent_id == "null" else int(parent_id),
            int(said.get("sequence-number", 0)),
            int(said["format-version"]),
            None if first_row_id in ("null", "None") else int(first_row_id),
            manifests,
        )
    except StorageError:
        raise
    except Exception:  # on a damaged file nearly any may be raised
        return None


_SAID = frozenset({"snapshot-id", "parent-snapshot-id", "sequence-number", "format-version", "first-row-id"})


def _read_manifests(io: FileIO, listed: Mapping[str, ManifestFile]) -> dict[str, _Manifest]:
    """Those that can be read, by location."""
    read = in_threads(lambda one: _read_manifest(io, one), listed.values())
    return {path: found for path, found in zip(listed, read, strict=True) if found is not None}


def _read_manifest(io: FileIO, manifest: ManifestFile) -> _Manifest | None:
    try:
        data = io.read(manifest.path)
        if avro_file.checksum_state(data) == ChecksumState.WRONG:
            return None
        header, _ = avro_file.decode_header(data)
        schema = Schema.from_json(json.loads(header["schema"]))
        fields = partition_fields_from_json(json.loads(header["partition-spec"]))
        spec = PartitionSpec(int(header.get("partition-spec-id", manifest.spec_id)), fields)
        entries = decode_manifest(data, manifest, schema=schema, specs={spec.spec_id: spec})
        for entry in entries:
            require_entry_shape(entry)
        live = [entry.file for entry in entries if entry.is_live]
        return _Manifest(schema, spec, totals_of(live), tuple(file for file in live if file.content == Content.DATA))
    except StorageError:
        raise
    except Exception:  # on a damaged file nearly any may be raised
        return None


def _heads(lists: Collection[_List]) -> list[_List]:
    """Those that are the parent of none."""
    parents = {one.parent_id for one in lists}
    return [one for one in lists if one.snapshot_id not in parents]


def _name_mapping(io: FileIO, schema: Schema, files: Iterable[ContentFile]) -> Mapping[str, str]:
    """A name mapping of the schema, without which files that have no field ids would be read as null."""

    def lacks_ids(file: ContentFile) -> bool:
        try:
            return not has_field_ids(file_head(io, file.file_path, file.file_format).schema)
        except (CorruptionError, NotFoundError, LookupError):
            # It is looked at as any file is, once there is a table.
            return False

    if any(list(in_threads(lacks_ids, files))):
        return {NAME_MAPPING_PROPERTY: NameMapping.of_schema(schema).to_text()}
    return {}


def _references(heads: Iterable[_List], newest: _List) -> Mapping[str, SnapshotReference]:
    others = {f"{FOUND_BRANCH}{one.snapshot_id}": SnapshotReference(one.snapshot_id) for one in heads if one != newest}
    return {MAIN_BRANCH: SnapshotReference(newest.snapshot_id), **others}


def _snapshot(one: _List, manifests: Mapping[str, _Manifest], schema_id: int) -> Snapshot:
    totals = sum((manifests[manifest.path].totals for manifest in one.manifests), Counter[str]())
    has_row_ids = one.first_row_id is not None
    return Snapshot(
        one.snapshot_id,
        one.parent_id,
        one.sequence_number,
        one.written_ms,
        one.path,
        # The operation is not told elsewhere. This one promises nothing to readers of changes.
        {"operation": "overwrite", **as_summary(totals)},
        schema_id=max((manifests[manifest.path].schema.schema_id for manifest in one.manifests), default=schema_id),
        first_row_id=one.first_row_id,
        added_rows=_end_of_row_ids(one) - (one.first_row_id or 0) if has_row_ids else None,
    )


def _end_of_row_ids(one: _List) -> int:
    """After those of the snapshot's rows; the snapshot's first id, if it has added none."""
    data: Sequence[ManifestFile] = [
        manifest
        for manifest in one.manifests
        if manifest.content == ManifestContent.DATA and manifest.first_row_id is not None
    ]
    ends = [(each.first_row_id or 0) + (each.added_rows_count or 0) + (each.existing_rows_count or 0) for each in data]
    return max([one.first_row_id or 0, *ends])
