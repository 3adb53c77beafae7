"""The furthest values of identity columns in data files, by the bounds that manifests have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

import numpy as np

from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.filter.bound_column import bound_column
from sqlext.scan.filter.value_range import decode_bound
from sqlext.spec.avro.column import Octets
from sqlext.spec.identity_column import (
    IdentityColumn,
    IdentityMark,
    identity_columns,
    identity_mark,
)
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestContent, ManifestFile
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.types import LongType
from sqlext.storage.file_io import FileIO


def marks_of(metadata: TableMetadata) -> Mapping[int, IdentityMark]:
    """The state of each identity column that the table's schema has, by field id."""
    columns = live_identities(metadata)
    return {id: identity_mark(metadata.properties, id, column) for id, column in columns.items()}


def live_identities(metadata: TableMetadata) -> Mapping[int, IdentityColumn]:
    """The identity columns that the table's schema has, by field id."""
    columns = identity_columns(metadata.properties)
    return {field.id: columns[field.id] for field in metadata.schema().fields if field.id in columns}


def examined_marks(io: FileIO, manifests: ManifestCache, metadata: TableMetadata) -> Mapping[int, IdentityMark]:
    """The state of each identity column, by field id, after a look at what other writers have added.

    Manifests that were written since the last such look are read, those of all branches and of rows that are gone but
    may come back. Values without bounds are not seen.
    """
    examined = {}
    for id, column in live_identities(metadata).items():
        mark = identity_mark(metadata.properties, id, column)
        furthest = furthest_since(io, manifests, metadata, id, column, mark.seen)
        examined[id] = IdentityMark(column.furthest((mark.value, furthest)), metadata.last_sequence_number)
    return examined


def furthest_since(
    io: FileIO, manifests: ManifestCache, metadata: TableMetadata, field_id: int, column: IdentityColumn, seen: int
) -> int | None:
    """The furthest value by the bounds of data files in manifests with a sequence number above `seen`; with 0 in all,
    as those of format version 1 have none. None if there is no bound."""
    furthest: int | None = None
    since = list(_manifests_since(io, manifests, metadata, seen))
    for contents in manifests.contents(io, since, metadata):
        if contents.columns is None:
            files = (entry.file for entry in contents.live_entries())
            furthest = column.furthest((furthest, furthest_of(files, field_id, column)))
            continue
        for part in contents.columns:
            bounds = part.metric("upper_bounds" if column.step > 0 else "lower_bounds", field_id)
            if not isinstance(bounds, Octets):
                continue
            known = np.ones(part.size, np.bool_) if bounds.valid is None else bounds.valid
            bound = bound_column(bounds, LongType(), part.size)
            if bound is not None and known.any():
                furthest = column.furthest((furthest, bound.extreme(known, largest=column.step > 0)))
    return furthest


def furthest_of(files: Iterable[ContentFile], field_id: int, column: IdentityColumn) -> int | None:
    """The furthest value by the bounds of these files."""
    bounds = (file.upper_bounds if column.step > 0 else file.lower_bounds for file in files)
    return column.furthest(decode_bound(LongType(), (one or {}).get(field_id)) for one in bounds)


def _manifests_since(
    io: FileIO, manifests: ManifestCache, metadata: TableMetadata, seen: int
) -> Iterator[ManifestFile]:
    paths: set[str] = set()
    for snapshot in _snapshots_to_read(metadata, seen):
        for manifest in manifests.manifests(io, snapshot):
            is_new = not seen or manifest.sequence_number > seen
            if is_new and manifest.content == ManifestContent.DATA and manifest.path not in paths:
                paths.add(manifest.path)
                yield manifest


def _snapshots_to_read(metadata: TableMetadata, seen: int) -> Iterator[Snapshot]:
    """The snapshots since `seen` that have all data files of any since then.

    Any kept snapshot may become a branch, and any change be undone. Those below an append have no file that it lacks,
    so these are mostly the heads of branches alone.
    """
    newest = reversed(metadata.snapshots)
    # A snapshot has a greater sequence number than all before it.
    since = list(takewhile(lambda one: one.sequence_number > seen, newest) if seen else newest)
    appended_to = {one.parent_snapshot_id for one in since if one.operation == "append"}
    return (one for one in since if one.snapshot_id not in appended_to)
