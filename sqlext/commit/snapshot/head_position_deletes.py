"""The position deletes and deletion vectors of a snapshot."""

from __future__ import annotations

from collections.abc import Set

from sqlext.commit.action import CommitContext
from sqlext.scan.deletes.delete_file_index import DeleteFileIndex
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


def position_delete_index(
    context: CommitContext, base: TableMetadata, head: Snapshot | None, spec_ids: Set[int]
) -> DeleteFileIndex:
    """Index of the position deletes of `head` that may apply to data files of some partition specs."""
    io, manifests = context.io, context.manifests
    listed = () if head is None else manifests.manifests(io, head)
    deletes = [one for one in listed if one.content == ManifestContent.DELETES and one.spec_id in spec_ids]
    live = manifests.live_entries_of(io, deletes, base)
    entries = [entry for entry in live if entry.file.content == Content.POSITION_DELETES]
    return DeleteFileIndex(entries, specs=base.specs_by_id(), columns={})
