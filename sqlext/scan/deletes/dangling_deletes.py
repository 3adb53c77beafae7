"""Delete files that can apply to no row, as partitions, sequence numbers and paths tell (spec: Scan Planning)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlext.scan.deletes.delete_file_index import referenced_data_file, sequence_number
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.spec.partition_spec import PartitionSpec


class DataAges:
    """The sequence numbers of a snapshot's data files: the least of each partition."""

    def __init__(self, specs: Mapping[int, PartitionSpec]) -> None:
        self._unpartitioned = {spec_id for spec_id, spec in specs.items() if spec.is_unpartitioned}
        self._oldest: dict[PartitionKey, int] = {}

    def add(self, file: ContentFile, number: int) -> None:
        """Takes a data file with its sequence number."""
        key = partition_key(file)
        self._oldest[key] = min(number, self._oldest.get(key, number))

    def outlived(self, delete: ManifestEntry) -> bool:
        """Whether no data file of its partition is old enough for a delete file to apply to it. Equality deletes of an
        unpartitioned spec apply to all partitions."""
        file, number = delete.file, sequence_number(delete)
        if file.content != Content.EQUALITY_DELETES:
            first = self._oldest.get(partition_key(file))
            return first is None or number < first
        if file.spec_id in self._unpartitioned:
            first = min(self._oldest.values(), default=None)
        else:
            first = self._oldest.get(partition_key(file))
        return first is None or number <= first


def dangling_deletes(
    data: Iterable[ManifestEntry], deletes: Sequence[ManifestEntry], specs: Mapping[int, PartitionSpec]
) -> Iterator[tuple[ManifestEntry, str]]:
    """The live delete files that apply to none of the live data files, each with the reason."""
    if not deletes:
        return
    numbers: dict[str, int] = {}
    ages = DataAges(specs)
    for entry in data:
        numbers[entry.file.file_path] = sequence_number(entry)
        ages.add(entry.file, sequence_number(entry))
    for entry in deletes:
        file, number = entry.file, sequence_number(entry)
        path = referenced_data_file(file)
        if file.content == Content.EQUALITY_DELETES:
            if ages.outlived(entry):
                yield entry, f"no data file of its partition is older than sequence number {number}"
        elif path is not None:
            if path not in numbers:
                yield entry, f"no data file {path}"
            elif numbers[path] > number:
                yield entry, f"its data file {path} is newer"
        elif ages.outlived(entry):
            yield entry, f"no data file of its partition is of sequence number {number} or older"
