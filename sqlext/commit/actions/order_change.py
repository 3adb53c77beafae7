"""Changing how writers sort and distribute rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.rules.identity_rules import require_unordered_identities
from sqlext.errors import AnalysisError
from sqlext.properties import DISTRIBUTION_MODE, Distribution
from sqlext.spec.field_path import path_text
from sqlext.spec.metadata.metadata_update import AddSortOrder, MetadataUpdate, SetDefaultSortOrder, SetProperties
from sqlext.spec.metadata.requirement import AssertCurrentSchemaId, AssertDefaultSortOrderId, AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import Direction, NullOrder, SortField, SortOrder
from sqlext.spec.transform import Transform, other_transforms


@dataclass(frozen=True, slots=True)
class SortTerm:
    """One term of a sort order; the column is a path."""

    column: tuple[str, ...]
    transform: Transform
    direction: Direction = "asc"
    null_order: NullOrder = "nulls-first"


@dataclass(frozen=True, slots=True)
class ChangeWriteOrder:
    """Sets the sort order of later writes (no terms: unsorted) and, unless None, `write.distribution-mode`."""

    terms: tuple[SortTerm, ...]
    distribution: Distribution | None

    def begin(self, context: CommitContext) -> ChangeWriteOrder:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a change of the write order needs a table")
        order = numbered_order(sort_order(self.terms, base.schema()), base)
        require_unordered_identities(base.schema(), order, base.properties)
        updates: list[MetadataUpdate] = []
        if order not in base.sort_orders:
            updates.append(AddSortOrder(order))
        if order.order_id != base.default_sort_order_id:
            updates.append(SetDefaultSortOrder(order.order_id))
        if self.distribution is not None and base.properties.get(DISTRIBUTION_MODE.name) != self.distribution:
            updates.append(SetProperties({DISTRIBUTION_MODE.name: self.distribution}))
        requirements = (
            AssertTableUUID(base.table_uuid),
            AssertCurrentSchemaId(base.current_schema_id),
            AssertDefaultSortOrderId(base.default_sort_order_id),
        )
        return StagedChange(base, tuple(updates), requirements)

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""


def sort_order(terms: Sequence[SortTerm], schema: Schema) -> SortOrder:
    """The order with these terms and order id 1, or 0 without terms. Raises AnalysisError for an unusable column."""
    return SortOrder(1 if terms else 0, tuple(_sort_field(term, schema) for term in terms))


def numbered_order(order: SortOrder, base: TableMetadata) -> SortOrder:
    """`order` with the id of an equal order of the table, else the next free id; 0 for no fields."""
    for known in base.sort_orders:
        if known.fields == order.fields:
            return known
    if not order.fields:
        return replace(order, order_id=0)
    return replace(order, order_id=max(0, *(known.order_id for known in base.sort_orders)) + 1)


def _sort_field(term: SortTerm, schema: Schema) -> SortField:
    source = schema.field_at(term.column, case_sensitive=False)
    if source is None:
        names = ", ".join(f"`{field.name}`" for field in schema.fields)
        raise AnalysisError(
            "UNRESOLVED_COLUMN.WITH_SUGGESTION", name=path_text(term.column), where="the sort order", suggestions=names
        )
    if not term.transform.can_transform(source.type):
        column = f"column {source.name} of type {source.type}"
        reason = f"{term.transform} is not defined for {column}. {other_transforms(source.type)}"
        raise AnalysisError("INVALID_PARTITION_TRANSFORM", transform=str(term.transform), reason=reason)
    if not schema.is_reachable(source.id):
        reason = f"column {schema.column_name(source.id)} lies inside a list or map. Name another"
        raise AnalysisError("INVALID_PARTITION_TRANSFORM", transform=str(term.transform), reason=reason)
    return SortField(source.id, term.transform, term.direction, term.null_order)
