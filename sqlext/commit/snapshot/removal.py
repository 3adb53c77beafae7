"""Which content files a snapshot removes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlext.scan.filter.file_filter import FileFilter, PartitionKey, partition_key
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import ManifestContent, ManifestFile
from sqlext.spec.metadata.table_metadata import TableMetadata


class Selection(Protocol):
    """Which live content files of one version of a table are removed."""

    def touches(self, manifest: ManifestFile) -> bool:
        """Whether the manifest may have a selected file."""

    def selects(self, file: ContentFile) -> bool:
        """Whether the file is removed."""

    def listed(self) -> frozenset[str] | None:
        """Paths outside of which it selects no file; None if it goes by something else than paths."""


class Removal(Protocol):
    """Which files a commit removes, from whatever version of the table."""

    def of(self, base: TableMetadata) -> Selection:
        """The selection for version `base`."""

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        """Paths that must be removed and are not among `removed`."""


@dataclass(frozen=True, slots=True)
class RemoveNothing:
    def of(self, base: TableMetadata) -> RemoveNothing:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return False

    def selects(self, file: ContentFile) -> bool:
        return False

    def listed(self) -> frozenset[str] | None:
        return frozenset()

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class RemovePaths:
    """Data files by path; each must be live."""

    paths: frozenset[str]

    def of(self, base: TableMetadata) -> RemovePaths:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return manifest.content == ManifestContent.DATA

    def selects(self, file: ContentFile) -> bool:
        return file.file_path in self.paths

    def listed(self) -> frozenset[str] | None:
        return self.paths

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return self.paths - {file.file_path for file in removed}


@dataclass(frozen=True, slots=True)
class RemoveDeleteFiles:
    """Delete files and deletion vectors; each must be live."""

    keys: frozenset[ContentKey]

    def of(self, base: TableMetadata) -> RemoveDeleteFiles:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return manifest.content == ManifestContent.DELETES

    def selects(self, file: ContentFile) -> bool:
        return file.key in self.keys

    def listed(self) -> frozenset[str] | None:
        return frozenset(path for path, _ in self.keys)

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return frozenset(path for path, _ in self.keys - {file.key for file in removed})


@dataclass(frozen=True, slots=True)
class RemoveAll:
    """All data and delete files."""

    def of(self, base: TableMetadata) -> RemoveAll:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return True

    def selects(self, file: ContentFile) -> bool:
        return True

    def listed(self) -> frozenset[str] | None:
        return None

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class RemovePartitions:
    """Data and delete files of these partitions; an equality delete of another, unpartitioned spec stays."""

    partitions: frozenset[PartitionKey]

    def of(self, base: TableMetadata) -> RemovePartitions:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return any(spec_id == manifest.spec_id for spec_id, _ in self.partitions)

    def selects(self, file: ContentFile) -> bool:
        return partition_key(file) in self.partitions

    def listed(self) -> frozenset[str] | None:
        return None

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class RemoveMatching:
    """Data files of which all rows match the filter, delete files of partitions of which all do, and the data files
    `paths`.

    Each of `paths` must be live.
    """

    row_filter: Predicate
    paths: frozenset[str] = frozenset()

    def of(self, base: TableMetadata) -> Selection:
        files = FileFilter(self.row_filter, schema=base.schema(), specs=base.specs_by_id())
        return _MatchingFiles(files, self.paths)

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return self.paths - {file.file_path for file in removed}


@dataclass(frozen=True, slots=True)
class _MatchingFiles:
    files: FileFilter
    paths: frozenset[str]

    def touches(self, manifest: ManifestFile) -> bool:
        return bool(self.paths) or self.files.manifest_may_match(manifest)

    def selects(self, file: ContentFile) -> bool:
        """Delete files by partition only: their metrics do not exclude that they apply to rows of a remaining file."""
        if file.content != Content.DATA:
            return self.files.partition_must_match(file)
        return file.file_path in self.paths or self.files.file_must_match(file)

    def listed(self) -> frozenset[str] | None:
        return None


@dataclass(frozen=True, slots=True)
class WithVectors:
    """The selection `others`, the delete files that new deletion vectors replace, and the vectors of removed data
    files."""

    others: Selection
    superseded: frozenset[ContentKey]
    data_files: frozenset[str]

    def touches(self, manifest: ManifestFile) -> bool:
        return bool(self.superseded or self.data_files) or self.others.touches(manifest)

    def selects(self, file: ContentFile) -> bool:
        if file.key in self.superseded or (file.is_deletion_vector and file.referenced_data_file in self.data_files):
            return True
        return self.others.selects(file)

    def listed(self) -> frozenset[str] | None:
        others = self.others.listed()
        if self.data_files or others is None:
            return None
        return others | frozenset(path for path, _ in self.superseded)
