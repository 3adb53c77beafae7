"""Row ids: the reserved column, and the ids that a commit gives away (spec: Row Lineage; First Row ID Assignment)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlext.spec.manifests.manifest import ManifestContent, ManifestFile
from sqlext.spec.types import LongType, NestedField

ROW_ID = NestedField(2147483540, "_row_id", LongType())
"""A row's own id, in files to which the row was moved; null in a row that has its id by its place in the file."""
LAST_UPDATED = NestedField(2147483539, "_last_updated_sequence_number", LongType())
"""The sequence number of a row's last change, in files to which the row was moved unchanged; null in one that the
file's own commit changed."""


def assign_first_row_ids(manifests: Iterable[ManifestFile], next_row_id: int) -> tuple[list[ManifestFile], int]:
    """The manifests of a snapshot, each data manifest with the first id of its rows, and the next free id.

    A manifest that has one keeps it. The others get room for all their live rows, since files of a table that was
    upgraded have no ids yet. Row counts must be known.
    """
    assigned = []
    for manifest in manifests:
        if manifest.content == ManifestContent.DATA and manifest.first_row_id is None:
            manifest = replace(manifest, first_row_id=next_row_id)
            next_row_id += (manifest.added_rows_count or 0) + (manifest.existing_rows_count or 0)
        assigned.append(manifest)
    return assigned, next_row_id
