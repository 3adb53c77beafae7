"""Where a table's new files go below its data location."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mmh3

from sqlext.properties import OBJECT_STORAGE_ENABLED, OBJECT_STORAGE_PARTITIONED_PATHS

# As Iceberg's ObjectStoreLocationProvider: the last bits of the hash, in folders of four and one of the rest.
_HASH_BITS = 20
_FOLDER_BITS = 4
_FOLDERS = 3


@dataclass(frozen=True, slots=True)
class FileLayout:
    """A folder for each partition, or those of Iceberg's object-storage layout, which spread the load by a hash."""

    object_storage: bool = False
    partitioned_paths: bool = True

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> FileLayout:
        """Raises AnalysisError INVALID_TABLE_PROPERTY for a value that does not parse."""
        return cls(OBJECT_STORAGE_ENABLED.of(properties), OBJECT_STORAGE_PARTITIONED_PATHS.of(properties))

    def location(self, data_location: str, partition_path: str, name: str) -> str:
        """The location of a file; `partition_path` is empty without partitions."""
        path = f"{partition_path}/{name}" if partition_path else name
        if not self.object_storage:
            return f"{data_location}/{path}"
        if not self.partitioned_paths:
            return f"{data_location}/{_hashed_folders(name)}-{name}"
        return f"{data_location}/{_hashed_folders(path)}/{path}"


def _hashed_folders(path: str) -> str:
    bits = f"{mmh3.hash(path.encode(), signed=False):032b}"[-_HASH_BITS:]
    ends = [_FOLDER_BITS * number for number in range(1, _FOLDERS + 1)]
    return "/".join(bits[start:end] for start, end in zip([0, *ends], [*ends, _HASH_BITS], strict=True))
