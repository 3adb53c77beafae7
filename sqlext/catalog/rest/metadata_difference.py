"""The difference of two table metadata as TableUpdates and TableRequirements of the REST protocol.

To sqlext a commit is the table's next metadata; to a server it is a list of updates, with requirements that make it a
compare-and-swap: the base's references, current schema, default spec and order, and last ids must be unchanged.
Properties have no requirement in the protocol: of two commits that set one property, the last wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlext.spec.metadata.metadata_update import (
    LAST_ADDED,
    AddSchema,
    AddSortOrder,
    AddSpec,
    AssignUUID,
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
)
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.requirement import (
    AssertCreate,
    AssertCurrentSchemaId,
    AssertDefaultSortOrderId,
    AssertDefaultSpecId,
    AssertLastAssignedFieldId,
    AssertLastAssignedPartitionId,
    AssertRefSnapshotId,
    AssertTableUUID,
)
from sqlext.spec.metadata.table_metadata import TableMetadata

Json = dict[str, Any]


def requirements(base: TableMetadata | None) -> list[Json]:
    """Requirements that hold if `base` is current; None: if there is no table."""
    if base is None:
        return [AssertCreate().to_json()]
    heads = {MAIN_BRANCH: None, **{name: reference.snapshot_id for name, reference in base.refs.items()}}
    return [
        AssertTableUUID(base.table_uuid).to_json(),
        *(AssertRefSnapshotId(name, snapshot_id).to_json() for name, snapshot_id in heads.items()),
        AssertLastAssignedFieldId(base.last_column_id).to_json(),
        AssertCurrentSchemaId(base.current_schema_id).to_json(),
        AssertLastAssignedPartitionId(base.last_partition_id).to_json(),
        AssertDefaultSpecId(base.default_spec_id).to_json(),
        AssertDefaultSortOrderId(base.default_sort_order_id).to_json(),
    ]


def may_still_hold(base: TableMetadata, updated: TableMetadata, current: TableMetadata) -> bool:
    """Whether the requirements of a change on `base`, and a server's checks of its snapshots, could still be met,
    though the table is now at `current`.

    Assigned ids are never reused, nor are sequence numbers of snapshots with a parent. A reference can be set back, so
    a moved reference rules out only a change without snapshots, which has no files.
    """
    if (current.last_column_id, current.last_partition_id) != (base.last_column_id, base.last_partition_id):
        return False
    brought = updated.snapshots_not_in(base)
    if not brought:
        return all(one in requirements(current) for one in requirements(base))
    return base.format_version < 2 or not any(
        one.parent_snapshot_id is not None and one.sequence_number <= current.last_sequence_number for one in brought
    )


def updates(base: TableMetadata | None, updated: TableMetadata) -> list[Json]:
    """Updates from `base` to `updated`; `base` None: for a new table."""
    return [
        *_definition(base, updated),
        *_properties(base, updated),
        *_snapshots(base, updated),
        *_removed_definitions(base, updated),
    ]


def _definition(base: TableMetadata | None, updated: TableMetadata) -> Iterator[Json]:
    if base is None:
        yield AssignUUID(updated.table_uuid).to_json()
    if base is None or base.format_version != updated.format_version:
        yield UpgradeFormatVersion(updated.format_version).to_json()
    if base is None or base.location != updated.location:
        yield SetLocation(updated.location).to_json()
    known = () if base is None else base.schemas
    added = [schema.schema_id for schema in updated.schemas if schema not in known]
    for schema in updated.schemas:
        if schema not in known:
            yield {**AddSchema(schema).to_json(), "last-column-id": updated.last_column_id}
    if base is None or base.current_schema_id != updated.current_schema_id:
        yield SetCurrentSchema(_id(updated.current_schema_id, added)).to_json()
    known_specs = () if base is None else base.partition_specs
    added = [spec.spec_id for spec in updated.partition_specs if spec not in known_specs]
    for spec in updated.partition_specs:
        if spec not in known_specs:
            yield AddSpec(spec).to_json()
    if base is None or base.default_spec_id != updated.default_spec_id:
        yield SetDefaultSpec(_id(updated.default_spec_id, added)).to_json()
    known_orders = () if base is None else base.sort_orders
    added = [order.order_id for order in updated.sort_orders if order not in known_orders]
    for order in updated.sort_orders:
        if order not in known_orders:
            yield AddSortOrder(order).to_json()
    if base is None or base.default_sort_order_id != updated.default_sort_order_id:
        yield SetDefaultSortOrder(_id(updated.default_sort_order_id, added)).to_json()


def _id(id: int, added: list[int]) -> int:
    """The id, or "last added", since a server may assign other ids."""
    return LAST_ADDED if added and added[-1] == id else id


def _properties(base: TableMetadata | None, updated: TableMetadata) -> Iterator[Json]:
    before: Mapping[str, str] = {} if base is None else base.properties
    gone = tuple(sorted(before.keys() - updated.properties.keys()))
    if gone:
        yield RemoveProperties(gone).to_json()
    changed = {key: value for key, value in updated.properties.items() if before.get(key) != value}
    if changed:
        yield SetProperties(changed).to_json()


def _snapshots(base: TableMetadata | None, updated: TableMetadata) -> Iterator[Json]:
    refs = {} if base is None else base.refs
    for name in refs:
        if name not in updated.refs:
            yield RemoveSnapshotRef(name).to_json()
    for snapshot in updated.snapshots_not_in(base):
        yield {"action": "add-snapshot", "snapshot": snapshot.to_json(updated.format_version)}
    for name, reference in updated.refs.items():
        if refs.get(name) != reference:
            yield SetSnapshotRef(name, reference).to_json()
    for gone in () if base is None else base.snapshots_not_in(updated):
        # Servers before Iceberg 1.9 take one snapshot in an update.
        yield RemoveSnapshots((gone.snapshot_id,)).to_json()
    yield from _statistics(base, updated)


def _removed_definitions(base: TableMetadata | None, updated: TableMetadata) -> Iterator[Json]:
    """Specs and schemas that are gone. They come last, since a server refuses to remove what a snapshot uses."""
    if base is None:
        return
    specs, schemas = updated.specs_by_id(), updated.schemas_by_id()
    gone = tuple(one for one in base.specs_by_id() if one not in specs)
    if gone:
        yield RemoveSpecs(gone).to_json()
    gone = tuple(one for one in base.schemas_by_id() if one not in schemas)
    if gone:
        yield RemoveSchemas(gone).to_json()


def _statistics(base: TableMetadata | None, updated: TableMetadata) -> Iterator[Json]:
    for field, word in (("statistics", "statistics"), ("partition_statistics", "partition-statistics")):
        before = () if base is None else getattr(base, field)
        after = getattr(updated, field)
        for one in after:
            if one not in before:
                of_snapshot = {"snapshot-id": one["snapshot-id"]} if word == "statistics" else {}
                yield {"action": f"set-{word}", **of_snapshot, word: dict(one)}
        named = {one["snapshot-id"] for one in after}
        for one in before:
            is_kept = updated.snapshot_or_none(one["snapshot-id"]) is not None
            if is_kept and one["snapshot-id"] not in named:
                yield {"action": f"remove-{word}", "snapshot-id": one["snapshot-id"]}
