"""Which equality-delete files of a snapshot may still hit a row."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.scan.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import ScanPlan
from sqlext.spec.content_file import Content, ContentFile
from sqlext.spec.manifest import ManifestContent
from sqlext.spec.snapshot import Snapshot
from sqlext.spec.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class EqualityDeleteUse:
    """`dead` are provably without effect: no data file in their scope that has a smaller sequence number, bounds that
    meet theirs, and a row that is not deleted by position."""

    live: tuple[ContentFile, ...] = ()
    dead: tuple[ContentFile, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.live or self.dead)


def equality_delete_use(
    io: FileIO, metadata: TableMetadata, snapshot: Snapshot, whole: ScanPlan, *, manifests: ManifestCache
) -> EqualityDeleteUse:
    """The equality-delete files of `snapshot`; `whole` is its plan without a predicate.

    Raises NotFoundError or CorruptionError for manifests.
    """
    applying = {delete.file.key for group in whole.equality_groups for delete in group.files}
    files = [
        entry.file
        for manifest in manifests.manifests(io, snapshot)
        if manifest.content == ManifestContent.DELETES
        for entry in manifests.live_entries(io, manifest, metadata)
        if entry.file.content == Content.EQUALITY_DELETES
    ]
    return EqualityDeleteUse(
        tuple(file for file in files if file.key in applying), tuple(file for file in files if file.key not in applying)
    )
