"""Stored changelogs: the rows that a snapshot changed, with row kinds, in files that are not part of the table's data.

A changelog has a manifest list, a manifest and data files like a snapshot, in the table's folder `_changelog`: engines
that remove orphan files skip folders whose names begin with `_`. The snapshot's summary has the changelog's id, so a
changelog exists as soon as its snapshot does, and is garbage once the snapshot is expired.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED

CHANGELOG_ID = "sqlext.changelog"
CHANGELOG_PRODUCER_KEY = "sqlext.changelog-producer"
CHANGELOG_SINCE = "sqlext.changelog-since"
CHANGELOG_UNTIL = "sqlext.changelog-until"
"""Keys of the snapshot summary: the changelog's id, its producer, and the snapshots between which it has changes."""

BEGINNING = 0
"""Instead of a snapshot id: the state before the first snapshot."""

INPUT, LOOKUP, FULL_COMPACTION = "input", "lookup", "full-compaction"

FOLDER = "_changelog"
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FORMAT_VERSION = 2
_KEPT_PROPERTIES = ("write.parquet.", "write.target-file-size-bytes")
_DATA_PATH = "write.data.path"


@dataclass(frozen=True, slots=True)
class StoredChangelog:
    """A changelog: the changes of its snapshot or, with `span`, those after the first of two earlier snapshots, or
    `BEGINNING`, up to and including the second."""

    id: str
    producer: str
    span: tuple[int, int] | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> StoredChangelog | None:
        """The changelog in the snapshot's summary; None if there is no valid one."""
        summary = snapshot.summary
        id, producer = summary.get(CHANGELOG_ID, ""), summary.get(CHANGELOG_PRODUCER_KEY, "")
        if not _ID.fullmatch(id) or producer not in (INPUT, LOOKUP, FULL_COMPACTION):
            return None
        if producer != FULL_COMPACTION:
            return cls(id, producer)
        since, until = summary.get(CHANGELOG_SINCE, ""), summary.get(CHANGELOG_UNTIL, "")
        if not all(text.isascii() and text.isdigit() for text in (since, until)):
            return None
        return cls(id, producer, (int(since), int(until)))

    def summary(self) -> dict[str, str]:
        """The entries of the snapshot summary that describe the changelog."""
        named = {CHANGELOG_ID: self.id, CHANGELOG_PRODUCER_KEY: self.producer}
        if self.span is None:
            return named
        since, until = map(str, self.span)
        return {**named, CHANGELOG_SINCE: since, CHANGELOG_UNTIL: until}


def can_store_changes(metadata: TableMetadata) -> bool:
    """Whether the table has no column with the name of the row-kind column, as a table of another engine may have."""
    return metadata.schema().column(ROW_KIND.name, case_sensitive=False) is None


def changelog_ids(snapshots: Iterable[Snapshot]) -> set[str]:
    """The ids of the changelogs that the snapshots' summaries name."""
    return {stored.id for stored in map(StoredChangelog.of, snapshots) if stored is not None}


def changelog_id(path: str) -> str | None:
    """The id of the changelog that a file in the folder belongs to, by the file's name; None if it has no id."""
    found = _ID.search(path.rpartition("/")[2])
    return None if found is None else found[0]


def changelog_folder(metadata: TableMetadata) -> str:
    return f"{metadata.location}/{FOLDER}"


def manifest_list_location(metadata: TableMetadata, id: str) -> str:
    """The location of the manifest list of the changelog `id`."""
    return f"{changelog_folder(metadata)}/snap-{id}.avro"


def changelog_table(metadata: TableMetadata, snapshot: Snapshot | None = None) -> TableMetadata:
    """The changelog as a table of its own: the table's columns, all optional, and the row kind.

    Its one snapshot has the id of `snapshot` and the changelog's files. Without a stored changelog it has no snapshot;
    new changelogs are written to it so.
    """
    listed = () if snapshot is None else _stored(metadata, [snapshot])
    return _as_table(metadata, listed, listed[0].snapshot_id if listed else None)


def changelogs_table(metadata: TableMetadata) -> TableMetadata:
    """All stored changelogs as a table with a snapshot for each, none of them current."""
    return _as_table(metadata, _stored(metadata, metadata.snapshots), None)


def _stored(metadata: TableMetadata, snapshots: Iterable[Snapshot]) -> tuple[Snapshot, ...]:
    """The changelogs of those snapshots that have one, as snapshots with the same ids."""
    found = ((snapshot, StoredChangelog.of(snapshot)) for snapshot in snapshots)
    return tuple(
        Snapshot(
            snapshot_id=snapshot.snapshot_id,
            parent_snapshot_id=None,
            sequence_number=1,
            timestamp_ms=snapshot.timestamp_ms,
            manifest_list=manifest_list_location(metadata, stored.id),
            summary={"operation": "append"},
            schema_id=metadata.current_schema_id,
        )
        for snapshot, stored in found
        if stored is not None
    )


def _as_table(metadata: TableMetadata, snapshots: tuple[Snapshot, ...], current_id: int | None) -> TableMetadata:
    return replace(
        metadata,
        format_version=_FORMAT_VERSION,
        last_sequence_number=1,
        schemas=tuple(_with_kind(schema) for schema in metadata.schemas),
        default_spec_id=UNPARTITIONED.spec_id,
        partition_specs=(UNPARTITIONED,),
        default_sort_order_id=UNSORTED.order_id,
        sort_orders=(UNSORTED,),
        properties=_properties(metadata),
        current_snapshot_id=current_id,
        refs={},
        snapshots=snapshots,
        statistics=(),
        partition_statistics=(),
        next_row_id=None,
    )


def _with_kind(schema: Schema) -> Schema:
    fields = tuple(replace(field, required=False) for field in schema.fields)
    return replace(schema, fields=(*fields, ROW_KIND), identifier_field_ids=())


def _properties(metadata: TableMetadata) -> Mapping[str, str]:
    kept = {key: value for key, value in metadata.properties.items() if key.startswith(_KEPT_PROPERTIES)}
    return {**kept, _DATA_PATH: changelog_folder(metadata)}
