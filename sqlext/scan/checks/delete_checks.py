"""Checks of a snapshot's delete files: those that apply to no data file, and deletion vectors (spec: Scan Planning)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlext.scan.deletes.delete_file_index import referenced_data_file, sequence_number
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.spec.manifests.content_file import Content, ContentKey
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.spec.partition_spec import PartitionSpec


def dangling_deletes(
    data: Iterable[ManifestEntry], deletes: Sequence[ManifestEntry], specs: Mapping[int, PartitionSpec]
) -> Iterator[tuple[ManifestEntry, str]]:
    """The live delete files that apply to none of the live data files, each with the reason, by paths, partitions and
    sequence numbers alone."""
    if not deletes:
        return
    numbers: dict[str, int] = {}
    oldest: dict[PartitionKey, int] = {}
    for entry in data:
        number = sequence_number(entry)
        numbers[entry.file.file_path] = number
        key = partition_key(entry.file)
        oldest[key] = min(number, oldest.get(key, number))
    of_any = min(oldest.values(), default=None)
    for entry in deletes:
        file, number = entry.file, sequence_number(entry)
        path = referenced_data_file(file)
        if file.content == Content.EQUALITY_DELETES:
            least = of_any if specs[file.spec_id].is_unpartitioned else oldest.get(partition_key(file))
            if least is None or least >= number:
                yield entry, f"no data file of its partition is older than sequence number {number}"
        elif path is not None:
            if path not in numbers:
                yield entry, f"no data file {path}"
            elif numbers[path] > number:
                yield entry, f"its data file {path} is newer"
        else:
            least = oldest.get(partition_key(file))
            if least is None or least > number:
                yield entry, f"no data file of its partition is of sequence number {number} or older"


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
