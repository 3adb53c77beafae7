"""Row lineage: its reserved columns, and the assignment of row ids (spec: Row Lineage; First Row ID Assignment)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlext.spec.manifests.manifest import ManifestContent, ManifestFile
from sqlext.spec.types import LongType, NestedField

ROW_ID = NestedField(2147483540, "_row_id", LongType())
"""The row id, stored in files to which the row was moved; null in a row that inherits it by its position."""
LAST_UPDATED = NestedField(2147483539, "_last_updated_sequence_number", LongType())
"""The sequence number of a row's last change, stored in files to which the row was moved unchanged; null in a row that
inherits the file's."""


def assign_first_row_ids(manifests: Iterable[ManifestFile], next_row_id: int) -> tuple[list[ManifestFile], int]:
    """The manifests of a snapshot, each data manifest with a first row id, and the next free row id.

    A manifest that has an id keeps it. Another reserves ids for its added and existing rows, since existing files of an
    upgraded table have no ids yet. Row counts must be known.
    """
    assigned = []
    for manifest in manifests:
        if manifest.content == ManifestContent.DATA and manifest.first_row_id is None:
            manifest = replace(manifest, first_row_id=next_row_id)
            next_row_id += (manifest.added_rows_count or 0) + (manifest.existing_rows_count or 0)
        assigned.append(manifest)
    return assigned, next_row_id
