from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import TypeAdapter
from pyiceberg.table.update import TableRequirement, TableUpdate

from sqlext.errors import AnalysisError, CommitConflict, NotFoundError
from sqlext.spec.metadata.metadata_update import (
    AddSchema,
    AddSnapshot,
    AddSortOrder,
    AddSpec,
    AssignUUID,
    MetadataUpdate,
    RemoveProperties,
    RemoveSchemas,
    RemoveSnapshotRef,
    RemoveSnapshots,
    RemoveSpecs,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetProperties,
    SetSnapshotRef,
    UpgradeFormatVersion,
    apply_updates,
    with_metadata_log,
)
from sqlext.spec.metadata.reference import SnapshotReference
from sqlext.spec.metadata.requirement import (
    AssertCreate,
    AssertCurrentSchemaId,
    AssertDefaultSortOrderId,
    AssertDefaultSpecId,
    AssertLastAssignedFieldId,
    AssertLastAssignedPartitionId,
    AssertRefSnapshotId,
    AssertTableUUID,
    Requirement,
)
from sqlext.spec.metadata.snapshot import MetadataLogEntry, Snapshot, SnapshotLogEntry
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED, SortField, SortOrder
from sqlext.spec.transform import BucketTransform, IdentityTransform
from sqlext.spec.types import LongType, NestedField, StringType

UUID = "f46e96fd-7174-44e9-9c48-e25b2eb790e0"
SCHEMA = Schema((NestedField(1, "id", LongType(), True),), 0, (1,))
WIDER = Schema((*SCHEMA.fields, NestedField(2, "s", StringType())), 1, (1,))
BUCKETED = PartitionSpec(1, (PartitionField(1, 1000, "id_bucket", BucketTransform(4)),))
SORTED = SortOrder(1, (SortField(1, IdentityTransform()),))
BASE = new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, "file:///t", {"a": "1", "b": "2"}, 2, UUID, 1_000)


def snapshot(id: int, number: int, parent: int | None = None, at: int = 2_000) -> Snapshot:
    return Snapshot(id, parent, number, at, f"file:///t/metadata/snap-{id}.avro", {"operation": "append"}, 0)


def committed(base: TableMetadata, one: Snapshot, now_ms: int) -> TableMetadata:
    return apply_updates(
        base, [AddSnapshot(one), SetSnapshotRef("main", SnapshotReference(one.snapshot_id))], now_ms=now_ms
    )


def test_a_snapshot_becomes_current_and_is_logged() -> None:
    changed = committed(BASE, snapshot(10, 1), now_ms=2_500)
    assert changed.current_snapshot() == snapshot(10, 1)
    assert changed.last_sequence_number == 1
    assert changed.last_updated_ms == 2_500
    assert changed.snapshot_log == (SnapshotLogEntry(2_000, 10),)


def test_the_clock_never_goes_back() -> None:
    assert apply_updates(BASE, [SetProperties({"c": "3"})], now_ms=10).last_updated_ms == 1_000
    assert apply_updates(BASE, [], now_ms=9_999) is BASE


def test_a_rollback_is_logged_at_its_own_time() -> None:
    first = committed(BASE, snapshot(10, 1), 2_500)
    second = committed(first, snapshot(11, 2, 10, 3_000), 3_500)
    back = apply_updates(second, [SetSnapshotRef("main", SnapshotReference(10))], now_ms=4_000)
    assert back.current_snapshot_id == 10
    assert back.snapshot_log[-1] == SnapshotLogEntry(4_000, 10)


@pytest.mark.parametrize("stale", [snapshot(11, 1), snapshot(10, 2)])
def test_a_snapshot_made_for_older_metadata_loses_the_race(stale: Snapshot) -> None:
    with pytest.raises(CommitConflict):
        AddSnapshot(stale).apply(committed(BASE, snapshot(10, 1), 2_500))


def test_removing_snapshots_removes_what_names_them() -> None:
    second = committed(committed(BASE, snapshot(10, 1), 2_500), snapshot(11, 2, 10, 3_000), 3_500)
    second = apply_updates(second, [SetSnapshotRef("old", SnapshotReference(10, "tag"))], now_ms=3_500)
    second = replace(second, statistics=({"snapshot-id": 10},))
    kept = apply_updates(second, [RemoveSnapshots((10,))], now_ms=4_000)
    assert [one.snapshot_id for one in kept.snapshots] == [11]
    assert set(kept.refs) == {"main"}
    assert kept.snapshot_log == (SnapshotLogEntry(3_000, 11),)
    assert kept.statistics == ()


def test_removing_main_leaves_no_current_snapshot() -> None:
    changed = apply_updates(committed(BASE, snapshot(10, 1), 2_500), [RemoveSnapshotRef("main")], now_ms=3_000)
    assert changed.current_snapshot() is None
    assert len(changed.snapshots) == 1


def test_schema_spec_and_order_are_added_then_chosen() -> None:
    changed = apply_updates(
        BASE,
        [
            AddSchema(WIDER),
            SetCurrentSchema(),
            AddSpec(BUCKETED),
            SetDefaultSpec(),
            AddSortOrder(SORTED),
            SetDefaultSortOrder(),
        ],
        now_ms=2_000,
    )
    assert (changed.schema(), changed.spec(), changed.sort_order()) == (WIDER, BUCKETED, SORTED)
    assert (changed.last_column_id, changed.last_partition_id) == (2, 1000)
    back = apply_updates(changed, [AddSchema(SCHEMA), SetCurrentSchema()], now_ms=3_000)
    assert back.schema() == SCHEMA
    assert len(back.schemas) == 2


def test_taken_and_missing_ids_lose_the_race() -> None:
    for update in (
        AddSchema(replace(WIDER, schema_id=0)),
        SetCurrentSchema(7),
        SetDefaultSpec(7),
        SetDefaultSortOrder(7),
    ):
        with pytest.raises(CommitConflict):
            update.apply(BASE)


def test_properties_and_location() -> None:
    changed = apply_updates(
        BASE, [SetProperties({"a": "x"}), RemoveProperties(("b", "z")), SetLocation("/n")], now_ms=2_000
    )
    assert dict(changed.properties) == {"a": "x"}
    assert changed.location == "/n"
    assert dict(BASE.properties) == {"a": "1", "b": "2"}


def test_format_versions_only_rise() -> None:
    assert UpgradeFormatVersion(3).apply(BASE).next_row_id == 0
    with pytest.raises(AnalysisError):
        UpgradeFormatVersion(1).apply(BASE)


def test_a_reference_needs_its_snapshot() -> None:
    with pytest.raises(NotFoundError):
        SetSnapshotRef("main", SnapshotReference(1)).apply(BASE)


def test_the_metadata_log_is_trimmed() -> None:
    assert with_metadata_log(BASE, None, 0, 2) is BASE
    metadata = BASE
    for number in range(4):
        metadata = with_metadata_log(metadata, f"v{number}", number, 2)
    assert metadata.metadata_log == (MetadataLogEntry(2, "v2"), MetadataLogEntry(3, "v3"))


@pytest.mark.parametrize(
    "update",
    [
        AssignUUID(UUID),
        UpgradeFormatVersion(2),
        AddSchema(WIDER),
        SetCurrentSchema(),
        AddSpec(BUCKETED),
        SetDefaultSpec(),
        AddSortOrder(SORTED),
        SetDefaultSortOrder(),
        SetLocation("/n"),
        SetProperties({"a": "b"}),
        RemoveProperties(("a",)),
        AddSnapshot(snapshot(1, 1)),
        SetSnapshotRef("main", SnapshotReference(1)),
        RemoveSnapshotRef("main"),
        RemoveSnapshots((1,)),
        RemoveSpecs((1,)),
        RemoveSchemas((1,)),
    ],
)
def test_updates_are_spelled_as_rest_does(update: MetadataUpdate) -> None:
    theirs = TypeAdapter(TableUpdate).validate_python(update.to_json())
    assert theirs.action == update.to_json()["action"]


REQUIREMENTS: list[tuple[Requirement, Requirement]] = [
    (AssertTableUUID(UUID.upper()), AssertTableUUID("00000000-0000-0000-0000-000000000000")),
    (AssertRefSnapshotId("main", None), AssertRefSnapshotId("main", 5)),
    (AssertLastAssignedFieldId(1), AssertLastAssignedFieldId(2)),
    (AssertCurrentSchemaId(0), AssertCurrentSchemaId(1)),
    (AssertLastAssignedPartitionId(999), AssertLastAssignedPartitionId(1000)),
    (AssertDefaultSpecId(0), AssertDefaultSpecId(1)),
    (AssertDefaultSortOrderId(0), AssertDefaultSortOrderId(1)),
]


@pytest.mark.parametrize(("held", "broken"), REQUIREMENTS)
def test_requirements(held: Requirement, broken: Requirement) -> None:
    held.check(BASE)
    for metadata in (BASE, None):
        with pytest.raises(CommitConflict):
            broken.check(metadata)
    assert TypeAdapter(TableRequirement).validate_python(held.to_json()).type == held.to_json()["type"]


def test_creation_requires_that_nothing_is_there() -> None:
    AssertCreate().check(None)
    with pytest.raises(CommitConflict):
        AssertCreate().check(BASE)


def test_definitions_in_use_are_not_removed() -> None:
    both = apply_updates(BASE, [AddSchema(WIDER), AddSpec(BUCKETED)], now_ms=2_000)
    fewer = apply_updates(both, [RemoveSchemas((1, 7)), RemoveSpecs((1, 7))], now_ms=3_000)
    assert (fewer.schemas, fewer.partition_specs) == (BASE.schemas, BASE.partition_specs)
    assert (fewer.last_column_id, fewer.last_partition_id) == (both.last_column_id, both.last_partition_id)
    for update in (RemoveSchemas((0,)), RemoveSpecs((0,))):
        with pytest.raises(CommitConflict):
            update.apply(both)
