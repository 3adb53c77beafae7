"""Checks of table metadata by itself: ids, references, history, numbers that rise (spec: Table Metadata Fields)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from sqlext.errors import SqlextError
from sqlext.scan.checks.finding import Check, Finding, Severity
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, validate_spec

# Clocks of writers may differ by so much, as Iceberg's library allows.
CLOCKS_MS = 60_000


def metadata_findings(metadata: TableMetadata, location: str) -> Iterator[Finding]:
    """What is wrong in the metadata of the file at `location`."""
    for check, found, expected, severity in (
        *_repeated_ids(metadata),
        *_references(metadata),
        *_history(metadata),
        *_numbers(metadata),
        *_row_ids(metadata),
        *_definitions(metadata),
    ):
        yield Finding(check, location, found, expected, severity)


_Fault = tuple[Check, str, str, Severity]


def _repeated_ids(metadata: TableMetadata) -> Iterator[_Fault]:
    for kind, ids in (
        ("snapshot", (one.snapshot_id for one in metadata.snapshots)),
        ("schema", (one.schema_id for one in metadata.schemas)),
        ("partition spec", (one.spec_id for one in metadata.partition_specs)),
        ("sort order", (one.order_id for one in metadata.sort_orders)),
    ):
        for id in _repeated(ids):
            yield Check.ID, f"the {kind} id {id} twice", "each id once", Severity.ERROR
    for id in _repeated(one.sequence_number for one in metadata.snapshots if one.sequence_number):
        yield Check.SEQUENCE_NUMBER, f"two snapshots of sequence number {id}", "each number once", Severity.ERROR


def _repeated(ids: Iterable[int | None]) -> list[int | None]:
    return [id for id, count in Counter(ids).items() if count > 1]


def _references(metadata: TableMetadata) -> Iterator[_Fault]:
    known = {one.snapshot_id for one in metadata.snapshots}
    for name, reference in metadata.refs.items():
        if reference.snapshot_id not in known:
            yield (
                Check.REFERENCE,
                f"{reference.type} {name} names snapshot {reference.snapshot_id}",
                "a snapshot of the table",
                Severity.ERROR,
            )
    main = metadata.refs.get(MAIN_BRANCH)
    if main is not None and main.snapshot_id != metadata.current_snapshot_id:
        found, expected = (
            f"main names snapshot {main.snapshot_id}",
            f"current-snapshot-id {metadata.current_snapshot_id}",
        )
        yield Check.REFERENCE, found, expected, Severity.ERROR
    schemas = metadata.schemas_by_id()
    for one in metadata.snapshots:
        if one.schema_id is not None and one.schema_id not in schemas:
            found = f"snapshot {one.snapshot_id} names schema {one.schema_id}"
            yield Check.REFERENCE, found, "a schema of the table", Severity.WARNING
    for statistics in (*metadata.statistics, *metadata.partition_statistics):
        if statistics.get("snapshot-id") not in known:
            found = f"statistics of snapshot {statistics.get('snapshot-id')}"
            yield Check.REFERENCE, found, "a snapshot of the table", Severity.WARNING


def _history(metadata: TableMetadata) -> Iterator[_Fault]:
    parents = {one.snapshot_id: one.parent_snapshot_id for one in metadata.snapshots}
    for id in _in_circles(parents):
        yield Check.HISTORY, f"snapshot {id} is its own ancestor", "a history with a beginning", Severity.ERROR
    for kind, times in (
        ("snapshot-log", [one.timestamp_ms for one in metadata.snapshot_log]),
        ("metadata-log", [one.timestamp_ms for one in metadata.metadata_log]),
    ):
        if any(later < earlier - CLOCKS_MS for earlier, later in pairwise(times)):
            yield Check.HISTORY, f"the times of {kind} go back", "times that rise", Severity.WARNING
        if times and metadata.last_updated_ms < times[-1] - CLOCKS_MS:
            found = f"last-updated-ms {metadata.last_updated_ms}"
            yield Check.HISTORY, found, f"at least {times[-1]}, as {kind} has it", Severity.WARNING
    for entry in metadata.snapshot_log:
        if entry.snapshot_id not in parents:
            found = f"snapshot-log names snapshot {entry.snapshot_id}"
            yield Check.REFERENCE, found, "a snapshot of the table", Severity.WARNING
    current = metadata.current_snapshot_id
    if metadata.snapshot_log and current is not None and metadata.snapshot_log[-1].snapshot_id != current:
        found = f"snapshot-log ends with {metadata.snapshot_log[-1].snapshot_id}"
        yield Check.REFERENCE, found, f"the current snapshot {current}", Severity.WARNING


def _in_circles(parents: Mapping[int, int | None]) -> list[int]:
    """The snapshots that are their own ancestors; each is visited once."""
    passed: set[int] = set()
    found: list[int] = []
    for start in parents:
        way: dict[int, None] = {}
        at: int | None = start
        while at is not None and at not in passed and at not in way:
            way[at] = None
            at = parents.get(at)
        if at is not None and at in way:
            ids = list(way)
            found += ids[ids.index(at) :]
        passed.update(way)
    return found


def _numbers(metadata: TableMetadata) -> Iterator[_Fault]:
    by_id = {one.snapshot_id: one for one in metadata.snapshots}
    for one in metadata.snapshots:
        parent = by_id.get(one.parent_snapshot_id) if one.parent_snapshot_id is not None else None
        if parent is not None and one.sequence_number <= parent.sequence_number and one.sequence_number:
            found = f"snapshot {one.snapshot_id} has sequence number {one.sequence_number}"
            yield Check.SEQUENCE_NUMBER, found, f"more than {parent.sequence_number}, its parent's", Severity.ERROR
    highest = {
        "last-sequence-number": (
            metadata.last_sequence_number,
            max((one.sequence_number for one in metadata.snapshots), default=0),
            Check.SEQUENCE_NUMBER,
        ),
        "last-column-id": (
            metadata.last_column_id,
            max((one.highest_field_id for one in metadata.schemas), default=0),
            Check.ID,
        ),
        "last-partition-id": (
            metadata.last_partition_id,
            max((field.field_id for one in metadata.partition_specs for field in one.fields), default=0),
            Check.ID,
        ),
    }
    for name, (told, least, check) in highest.items():
        if told < least:
            yield check, f"{name} {told}", f"at least {least}", Severity.ERROR


def _row_ids(metadata: TableMetadata) -> Iterator[_Fault]:
    given = [one for one in metadata.snapshots if one.first_row_id is not None]
    ordered: Sequence[Snapshot] = sorted(given, key=lambda one: (one.first_row_id or 0, one.sequence_number))
    for before, after in pairwise(ordered):
        end = (before.first_row_id or 0) + (before.added_rows or 0)
        if (after.first_row_id or 0) < end:
            found = f"snapshot {after.snapshot_id} gives row ids from {after.first_row_id}"
            yield Check.ROW_ID, found, f"from {end}, after snapshot {before.snapshot_id}'s", Severity.ERROR
    if ordered and metadata.next_row_id is not None:
        end = max((one.first_row_id or 0) + (one.added_rows or 0) for one in ordered)
        if metadata.next_row_id < end:
            yield Check.ROW_ID, f"next-row-id {metadata.next_row_id}", f"at least {end}", Severity.ERROR


def _definitions(metadata: TableMetadata) -> Iterator[_Fault]:
    try:
        metadata.schema().validate_identifier_fields()
        validate_spec(metadata.spec(), metadata.schema())
    except SqlextError as error:
        yield Check.PARTITION_SPEC, str(error), "a spec and identifier fields that fit the schema", Severity.ERROR
    columns = {id for schema in metadata.schemas for id in schema.field_ids}
    for spec in metadata.partition_specs:
        for field in spec.fields:
            if field.source_id not in columns and str(field.transform) != "void":
                found = f"field {field.name} of spec {spec.spec_id} is of column {field.source_id}"
                yield Check.PARTITION_SPEC, found, "a column of one of the schemas", Severity.WARNING
