"""Rules for tables with identity columns: what has to be known of a row before its values are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlext.commit.rules.merge_rules import has_merge_engine
from sqlext.errors import AnalysisError
from sqlext.properties import CHANGELOG_PRODUCER, ROWKIND_FIELD
from sqlext.spec.identity_column import identity_columns
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortOrder
from sqlext.spec.transform import VoidTransform

OF_ROWS = ("sequence.field", "write.upsert.sequence-field", ROWKIND_FIELD.name)
"""Properties that name columns by which rows of a key are ordered, or with their kinds."""
_PLAIN = "Use a plain column, whose value the query computes"


def misused_identity_columns(
    schema: Schema, spec: PartitionSpec, properties: Mapping[str, str]
) -> Iterator[AnalysisError]:
    """INVALID_IDENTITY_COLUMN for each identity column that a write would need before it gives its values."""
    ids = identity_columns(properties).keys()
    of_order = {part.strip().lower() for known in OF_ROWS for part in properties.get(known, "").split(",")}
    partitions = {one.source_id: one.name for one in spec.fields if not isinstance(one.transform, VoidTransform)}
    for field in schema.fields:
        if field.id not in ids:
            continue
        reason, way_out = None, _PLAIN
        if field.id in partitions:
            reason = f"the partition field {partitions[field.id]} is computed from it"
            way_out = "Partition by other columns"
        elif field.name.lower() in of_order:
            reason = "it orders rows of a key, or has their kinds"
        elif has_merge_engine(properties):
            reason = "the table has a merge engine"
        elif properties.get(CHANGELOG_PRODUCER.name, "").lower() == "input":
            reason, way_out = "the table's changelog has rows as they are given", "Use another changelog-producer"
        if reason is not None:
            yield AnalysisError("INVALID_IDENTITY_COLUMN", column=field.name, reason=reason, way_out=way_out)


def require_unordered_identities(schema: Schema, order: SortOrder, properties: Mapping[str, str]) -> None:
    """Raises AnalysisError INVALID_IDENTITY_COLUMN if the sort order has an identity column."""
    ids = identity_columns(properties).keys()
    for field in order.fields:
        if field.source_id in ids:
            reason = "rows are sorted before they get its values"
            way_out = "Leave it out of the order: in each file its values follow the order of the rows"
            column = schema.column_name(field.source_id)
            raise AnalysisError("INVALID_IDENTITY_COLUMN", column=column, reason=reason, way_out=way_out)
