"""Which content files a snapshot takes out of the table."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Protocol

from sqlext.scan.file_filter import PartitionKey, partition_key
from sqlext.spec.content_file import ContentFile
from sqlext.spec.manifest import ManifestContent, ManifestFile


class Removal(Protocol):
    """A selection of live content files."""

    def touches(self, manifest: ManifestFile) -> bool:
        """Whether the manifest may hold a selected file."""

    def selects(self, file: ContentFile) -> bool:
        """Whether the file goes."""

    def missing(self, removed: Set[str]) -> frozenset[str]:
        """Paths that had to go and were not among `removed`."""


@dataclass(frozen=True, slots=True)
class RemoveNothing:
    def touches(self, manifest: ManifestFile) -> bool:
        return False

    def selects(self, file: ContentFile) -> bool:
        return False

    def missing(self, removed: Set[str]) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class RemovePaths:
    """Data files, or delete files, by path; each must be there."""

    content: ManifestContent
    paths: frozenset[str]

    def touches(self, manifest: ManifestFile) -> bool:
        return manifest.content == self.content

    def selects(self, file: ContentFile) -> bool:
        return file.file_path in self.paths

    def missing(self, removed: Set[str]) -> frozenset[str]:
        return self.paths - removed


@dataclass(frozen=True, slots=True)
class RemoveAll:
    """Everything, delete files too."""

    def touches(self, manifest: ManifestFile) -> bool:
        return True

    def selects(self, file: ContentFile) -> bool:
        return True

    def missing(self, removed: Set[str]) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class RemovePartitions:
    """Data and delete files of whole partitions; an unpartitioned equality delete is of none and stays."""

    partitions: frozenset[PartitionKey]

    def touches(self, manifest: ManifestFile) -> bool:
        return any(spec_id == manifest.spec_id for spec_id, _ in self.partitions)

    def selects(self, file: ContentFile) -> bool:
        return partition_key(file) in self.partitions

    def missing(self, removed: Set[str]) -> frozenset[str]:
        return frozenset()
