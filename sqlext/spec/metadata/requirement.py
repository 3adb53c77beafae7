"""Requirements of updates on the table's current metadata (REST spec: TableRequirement)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, Union

from sqlext.errors import CommitConflict
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class AssertCreate:
    """The table does not exist."""

    def check(self, metadata: TableMetadata | None) -> None:
        """Raises CommitConflict."""
        if metadata is not None:
            raise _conflict(metadata, "the table exists already")

    def to_json(self) -> dict[str, Any]:
        return {"type": "assert-create"}


@dataclass(frozen=True, slots=True)
class AssertTableUUID:
    """The table has that UUID, and is not another table of its name."""

    uuid: str

    def check(self, metadata: TableMetadata | None) -> None:
        """Raises CommitConflict."""
        _require(metadata, "uuid", self.uuid.lower(), None if metadata is None else metadata.table_uuid.lower())

    def to_json(self) -> dict[str, Any]:
        return {"type": "assert-table-uuid", "uuid": self.uuid}


@dataclass(frozen=True, slots=True)
class AssertRefSnapshotId:
    """A branch or tag refers to that snapshot; None means that it does not exist."""

    ref: str
    snapshot_id: int | None

    def check(self, metadata: TableMetadata | None) -> None:
        """Raises CommitConflict."""
        reference = None if metadata is None else metadata.refs.get(self.ref)
        actual = None if reference is None else reference.snapshot_id
        _require(metadata, f"snapshot of {self.ref}", self.snapshot_id, actual)

    def to_json(self) -> dict[str, Any]:
        return {"type": "assert-ref-snapshot-id", "ref": self.ref, "snapshot-id": self.snapshot_id}


@dataclass(frozen=True, slots=True)
class AssertLastAssignedFieldId:
    """The highest column id is that one: no column was added."""

    last_assigned_field_id: int

    def check(self, metadata: TableMetadata | None) -> None:
        """Raises CommitConflict."""
        actual = None if metadata is None else metadata.last_column_id
        _require(metadata, "last assigned field id", self.last_assigned_field_id, actual)

    def to_json(self) -> dict[str, Any]:
        return {"type": "assert-last-assigned-field-id", "last-assigned-field-id": self.last_assigned_field_id}


@dataclass(frozen=True, slots=True)
class AssertCurrentSchemaId:
    """The current schema is that one."""

    current_schema_id: int

    def check(self, metadata: TableMetadata | None) -> None:
        """Raises CommitConflict."""
        actual = None if metadata is None else metadata.current_schema_id
        _require(metadata, "current schema id", self.current_schema_id, actual)

    def to_json(self) -> dict[str, Any]:
        return {"type": "assert-current-schema-id", "current-schema-id": self.current_schema_id}


@dataclass(frozen=True, slots=True)
class AssertLastAssignedPartitionId:
    """The highest partition field id is that one: no partition field was added."""

    last_assigned_partition_id: int

    def check(self, metadata: TableMetadata | None) -> None:
        """Raises CommitConflict."""
        actual = None if metadata is None else metadata.last_partition_id
        _require(metadata, "last assigned partition id", self.last_assigned_partition_id, actual)

    def to_json(self) -> dict[str, Any]:
        id = self.last_assigned_partition_id
        return {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": id}


@dataclass(frozen=True, slots=True)
class AssertDefaultSpecId:
    """The default partition spec is that one."""

    default_spec_id: int

    def check(self, metadata: TableMetadata | None) -> None:
        """Raises CommitConflict."""
        actual = None if metadata is None else metadata.default_spec_id
        _require(metadata, "default spec id", self.default_spec_id, actual)

    def to_json(self) -> dict[str, Any]:
        return {"type": "assert-default-spec-id", "default-spec-id": self.default_spec_id}


@dataclass(frozen=True, slots=True)
class AssertDefaultSortOrderId:
    """The default sort order is that one."""

    default_sort_order_id: int

    def check(self, metadata: TableMetadata | None) -> None:
        """Raises CommitConflict."""
        actual = None if metadata is None else metadata.default_sort_order_id
        _require(metadata, "default sort order id", self.default_sort_order_id, actual)

    def to_json(self) -> dict[str, Any]:
        return {"type": "assert-default-sort-order-id", "default-sort-order-id": self.default_sort_order_id}


Requirement: TypeAlias = Union[  # noqa: UP007 - as every union of spec/
    AssertCreate,
    AssertTableUUID,
    AssertRefSnapshotId,
    AssertLastAssignedFieldId,
    AssertCurrentSchemaId,
    AssertLastAssignedPartitionId,
    AssertDefaultSpecId,
    AssertDefaultSortOrderId,
]


def _require(metadata: TableMetadata | None, what: str, expected: object, actual: object) -> None:
    if metadata is None:
        raise CommitConflict("COMMIT_CONFLICT", name="the table", reason="the table no longer exists")
    if actual != expected:
        raise _conflict(metadata, f"{what} is {actual}, expected {expected}")


def _conflict(metadata: TableMetadata, reason: str) -> CommitConflict:
    return CommitConflict("COMMIT_CONFLICT", name=metadata.location, reason=reason)
