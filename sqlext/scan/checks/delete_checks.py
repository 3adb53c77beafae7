"""Checks of a snapshot's deletion vectors (spec: Scan Planning)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sqlext.spec.manifests.content_file import ContentKey
from sqlext.spec.manifests.manifest import ManifestEntry


def repeated_vectors(deletes: Iterable[ManifestEntry]) -> list[str]:
    """Data files with more than one deletion vector."""
    counts = Counter(one.file.referenced_data_file for one in deletes if one.file.is_deletion_vector)
    return [path for path, count in counts.items() if path is not None and count > 1]


def unplaced_vectors(deletes: Iterable[ManifestEntry]) -> list[ContentKey]:
    """Deletion vectors whose entry lacks the data file, or the place in the Puffin file."""
    return [
        one.file.key
        for one in deletes
        if one.file.is_deletion_vector
        and (
            one.file.referenced_data_file is None
            or (one.file.content_offset or 0) <= 0
            or (one.file.content_size_in_bytes or 0) <= 0
        )
    ]
