"""Manifests in place of others with the same live entries, of a good size and in the order of partitions.

As Iceberg's action `RewriteManifestsSparkAction`: the manifests of one partition spec are rewritten, data and delete
manifests each on their own, and a single one that is small enough stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlext.commit.snapshot.manifest_writer import ManifestKey, ManifestWriter, manifest_key
from sqlext.properties import MANIFEST_TARGET_SIZE_BYTES
from sqlext.spec.manifests.encoded_entry import EncodedEntry
from sqlext.spec.manifests.manifest import ManifestContent, ManifestFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec

# By how much of the target a manifest may be larger, so that no partition is divided.
_SLACK = 0.2


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The manifests `replaced`, and those `created` from their `entries` live entries."""

    replaced: tuple[ManifestFile, ...] = ()
    created: tuple[ManifestFile, ...] = ()
    entries: int = 0


class ManifestRewriting:
    """The rewrites of one commit: what one attempt has written serves later ones as long as the manifests that it
    replaces are there."""

    def __init__(self, writer: ManifestWriter, spec_id: int, sort_by: Sequence[str]) -> None:
        """Entries are sorted by the partition fields `sort_by` of the spec, or by all fields."""
        self._writer = writer
        self._spec_id = spec_id
        self._sort_by = sort_by
        self._done: Mapping[ManifestContent, tuple[frozenset[ManifestKey], Rewrite]] = {}

    def of(self, base: TableMetadata, listed: Sequence[ManifestFile]) -> Rewrite:
        """The rewrite of the manifests `listed` by a version of the table; nothing is replaced if none has to be.

        Raises NotFoundError, CorruptionError, StorageError, and UnsupportedError for encryption or a partition of type
        fixed.
        """
        there = frozenset(manifest_key(manifest, base) for manifest in listed)
        done = {}
        for content in ManifestContent:
            known = self._done.get(content)
            if known is None or not known[0] <= there:
                rewrite = self._rewritten(base, [one for one in listed if one.content == content])
                known = frozenset(manifest_key(one, base) for one in rewrite.replaced), rewrite
            done[content] = known
        self._done = done
        data, deletes = (done[content][1] for content in ManifestContent)
        return Rewrite(data.replaced + deletes.replaced, data.created + deletes.created, data.entries + deletes.entries)

    def _rewritten(self, base: TableMetadata, manifests: Sequence[ManifestFile]) -> Rewrite:
        replaced = tuple(manifest for manifest in manifests if manifest.spec_id == self._spec_id)
        target = MANIFEST_TARGET_SIZE_BYTES.of(base.properties)
        number = -(-sum(manifest.length for manifest in replaced) // target)
        if not replaced or (number == 1 and len(replaced) == 1):
            return Rewrite()
        live = [entry.existing for entry in self._writer.encoded_entries(replaced, base) if entry.is_live]
        ordered = _ordered(live, base.specs_by_id()[self._spec_id], self._sort_by)
        created = tuple(self._written(part, base, replaced[0].content) for part in divided(ordered, number))
        return Rewrite(replaced, created, len(live))

    def _written(self, entries: Sequence[EncodedEntry], base: TableMetadata, content: ManifestContent) -> ManifestFile:
        manifest = self._writer.write(entries, base, self._spec_id, content)
        ids = [entry.first_row_id for entry in entries if entry.first_row_id is not None]
        # No entry inherits it, but without it the manifest list would reserve ids for rows that have theirs.
        return replace(manifest, first_row_id=min(ids)) if len(ids) == len(entries) else manifest


def _ordered(entries: Sequence[EncodedEntry], spec: PartitionSpec, sort_by: Sequence[str]) -> list[EncodedEntry]:
    """The entries by their partitions: nulls first and NaN last, as Spark sorts."""
    names = [field.name for field in spec.fields]
    places = [names.index(name) for name in sort_by or names]
    ranks = {one: tuple(_rank(one[place]) for place in places) for one in {entry.partition for entry in entries}}
    return sorted(entries, key=lambda entry: ranks[entry.partition])


def _rank(value: Any) -> tuple[int, Any]:
    if value is None:
        return 0, 0
    return (1, value) if value == value else (2, 0)  # NaN is unequal to itself


def divided(entries: Sequence[EncodedEntry], number: int) -> Iterator[Sequence[EncodedEntry]]:
    """Entries, in their order, in at most `number` parts of about equal bytes; a part ends with a partition if that is
    near. Without entries there is no part."""
    size = sum(len(entry.data_file) for entry in entries) / max(1, number)
    first, before, parts = 0, 0, 1
    for at, entry in enumerate(entries):
        over = before - parts * size
        if at > first and parts < number and over >= 0:
            ends = entry.partition != entries[at - 1].partition
            if ends or over >= _SLACK * size:
                yield entries[first:at]
                first, parts = at, parts + 1
        before += len(entry.data_file)
    if entries:
        yield entries[first:]
