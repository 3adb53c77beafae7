"""Which content files a snapshot takes out of the table."""

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
    """Which live content files of one version of a table go."""

    def touches(self, manifest: ManifestFile) -> bool:
        """Whether the manifest may hold a selected file."""

    def selects(self, file: ContentFile) -> bool:
        """Whether the file goes."""


class Removal(Protocol):
    """What goes, whatever version of the table the commit lands on."""

    def of(self, base: TableMetadata) -> Selection:
        """The files of that version which go."""

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        """Paths that had to go and were not among `removed`."""


@dataclass(frozen=True, slots=True)
class RemoveNothing:
    def of(self, base: TableMetadata) -> RemoveNothing:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return False

    def selects(self, file: ContentFile) -> bool:
        return False

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class RemovePaths:
    """Data files by path; each must be there."""

    paths: frozenset[str]

    def of(self, base: TableMetadata) -> RemovePaths:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return manifest.content == ManifestContent.DATA

    def selects(self, file: ContentFile) -> bool:
        return file.file_path in self.paths

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return self.paths - {file.file_path for file in removed}


@dataclass(frozen=True, slots=True)
class RemoveDeleteFiles:
    """Delete files and deletion vectors; each must be there."""

    keys: frozenset[ContentKey]

    def of(self, base: TableMetadata) -> RemoveDeleteFiles:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return manifest.content == ManifestContent.DELETES

    def selects(self, file: ContentFile) -> bool:
        return file.key in self.keys

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return frozenset(path for path, _ in self.keys - {file.key for file in removed})


@dataclass(frozen=True, slots=True)
class RemoveAll:
    """Everything, delete files too."""

    def of(self, base: TableMetadata) -> RemoveAll:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return True

    def selects(self, file: ContentFile) -> bool:
        return True

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class RemovePartitions:
    """Data and delete files of whole partitions; an unpartitioned equality delete is of none and stays."""

    partitions: frozenset[PartitionKey]

    def of(self, base: TableMetadata) -> RemovePartitions:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return any(spec_id == manifest.spec_id for spec_id, _ in self.partitions)

    def selects(self, file: ContentFile) -> bool:
        return partition_key(file) in self.partitions

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True)
class RemoveMatching:
    """Data files that hold only rows which the filter selects, delete files of partitions that do, and `paths`.

    Each of `paths`, which are of data files, must be there.
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
        """A delete file by its partition alone: by its metrics it could be for rows that stay in a file."""
        if file.content != Content.DATA:
            return self.files.partition_must_match(file)
        return file.file_path in self.paths or self.files.file_must_match(file)


@dataclass(frozen=True, slots=True)
class WithVectors:
    """What another selection takes out of delete manifests, delete files that new deletion vectors replace, and the
    vectors of data files that go."""

    others: Selection
    superseded: frozenset[ContentKey]
    data_files: frozenset[str]

    def touches(self, manifest: ManifestFile) -> bool:
        return bool(self.superseded or self.data_files) or self.others.touches(manifest)

    def selects(self, file: ContentFile) -> bool:
        if file.key in self.superseded or (file.is_deletion_vector and file.referenced_data_file in self.data_files):
            return True
        return self.others.selects(file)
