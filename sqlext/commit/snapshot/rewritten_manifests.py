"""Manifests in place of others with the same live entries, of a good size and in the order of partitions.

As Iceberg's action `RewriteManifestsSparkAction`: the manifests of one partition spec are rewritten, data and delete
manifests each on their own, and a single one that is small enough stays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from sqlext.commit.snapshot.manifest_writer import ManifestKey, ManifestWriter, manifest_key
from sqlext.properties import MANIFEST_TARGET_SIZE_BYTES
from sqlext.spec.manifests.encoded_entry import EncodedEntry
from sqlext.spec.manifests.manifest import ManifestContent, ManifestFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec

# By what part of its size a manifest may end earlier or later, so that entries of equal keys are not divided.
_SLACK = 0.1


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
        keys = _sort_keys(live, base.specs_by_id()[self._spec_id], self._sort_by)
        ordered = sorted(live, key=lambda entry: keys[entry.partition])
        parts = divided(ordered, [keys[entry.partition] for entry in ordered], number)
        created = tuple(self._written(part, base, replaced[0].content) for part in parts)
        return Rewrite(replaced, created, len(live))

    def _written(self, entries: Sequence[EncodedEntry], base: TableMetadata, content: ManifestContent) -> ManifestFile:
        manifest = self._writer.write(entries, base, self._spec_id, content)
        ids = [entry.first_row_id for entry in entries if entry.first_row_id is not None]
        # No entry inherits it, but without it the manifest list would reserve ids for rows that have theirs.
        return replace(manifest, first_row_id=min(ids)) if len(ids) == len(entries) else manifest


def _sort_keys(
    entries: Sequence[EncodedEntry], spec: PartitionSpec, sort_by: Sequence[str]
) -> Mapping[tuple[Any, ...], Any]:
    """What entries are sorted by, of each partition: nulls come first and NaN last, as in Spark."""
    names = [field.name for field in spec.fields]
    places = [names.index(name) for name in sort_by or names]
    return {one: tuple(_rank(one[place]) for place in places) for one in {entry.partition for entry in entries}}


def _rank(value: Any) -> tuple[int, Any]:
    if value is None:
        return 0, 0
    return (1, value) if value == value else (2, 0)  # NaN is unequal to itself


def divided(entries: Sequence[EncodedEntry], keys: Sequence[Any], number: int) -> Iterator[Sequence[EncodedEntry]]:
    """Entries, sorted by `keys`, in at most `number` parts of about equal bytes; without entries there is no part.

    A part ends with the entries of a key if that is near."""
    offsets = [0, *accumulate(len(entry.data_file) for entry in entries)]
    size = offsets[-1] / max(1, number)
    ends = [at for at in range(1, len(entries)) if keys[at] != keys[at - 1]]
    first = 0
    for part in range(1, number):
        exact = bisect_left(offsets, part * size)
        near = bisect_left(ends, exact)
        distances = {at: abs(offsets[at] - part * size) for at in ends[max(0, near - 1) : near + 1]}
        close = [at for at, distance in distances.items() if distance <= _SLACK * size]
        cut = min(close, key=distances.__getitem__, default=exact)
        if cut > first:
            yield entries[first:cut]
            first = cut
    if first < len(entries):
        yield entries[first:]
