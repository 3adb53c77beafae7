"""The kinds of deletes that a snapshot has, from its manifest list and delete manifests, without data manifests."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.errors import CorruptionError
from sqlext.scan.deletes.delete_file_index import sequence_number
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.files.readable_files import require_readable
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class EqualityDeletes:
    """Equality-delete files that one join can apply: of one list of key columns (ascending field ids), and all global
    or all not."""

    equality_ids: tuple[int, ...]
    is_global: bool
    entries: tuple[ManifestEntry, ...]


@dataclass(frozen=True, slots=True)
class LiveDeletes:
    """The deletes that, by their sequence numbers, may apply to any data file."""

    has_positions: bool = False
    equality: tuple[EqualityDeletes, ...] = ()


def live_deletes(io: FileIO, metadata: TableMetadata, snapshot: Snapshot, *, manifests: ManifestCache) -> LiveDeletes:
    """The deletes of a snapshot.

    Raises UnsupportedError for delete files that cannot be read, NotFoundError or CorruptionError for manifests.
    """
    listed = [one for one in manifests.manifests(io, snapshot) if one.has_live_files]
    oldest = min((one.min_sequence_number for one in listed if one.content == ManifestContent.DATA), default=None)
    if oldest is None:
        return LiveDeletes()
    newer = [one for one in listed if one.content == ManifestContent.DELETES and one.sequence_number >= oldest]
    specs = metadata.specs_by_id()
    everything = FileFilter(AlwaysTrue(), schema=metadata.schema(), specs=specs)
    has_positions = False
    groups: dict[tuple[tuple[int, ...], bool], list[ManifestEntry]] = {}
    for entry in manifests.matching_entries(io, newer, metadata, everything, with_metrics=False):
        number, file = sequence_number(entry), entry.file
        if file.content == Content.POSITION_DELETES:
            has_positions = has_positions or number >= oldest
        elif number > oldest:
            require_readable(file)
            groups.setdefault((_key(file), specs[file.spec_id].is_unpartitioned), []).append(entry)
    return LiveDeletes(has_positions, tuple(EqualityDeletes(*kind, tuple(found)) for kind, found in groups.items()))


def _key(file: ContentFile) -> tuple[int, ...]:
    if not file.equality_ids:
        raise CorruptionError(
            "CORRUPT_FILE", path=file.file_path, kind="equality delete file", reason="its entry has no equality ids"
        )
    return tuple(sorted(file.equality_ids))
