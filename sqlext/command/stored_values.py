"""Values that Spark has computed, converted to Iceberg's stored values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sqlext.spec.partition_spec import FIRST_PARTITION_FIELD_ID, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import NestedField
from sqlext.write.alignment import Aligner
from sqlext.write.partitioner import Partitioner


def stored_values(columns: Sequence[pa.Array], fields: Sequence[NestedField], table_name: str) -> tuple[Any, ...]:
    """The values of one row, in the form of a data file's partition."""
    schema = Schema(tuple(replace(field, required=False) for field in fields))
    spec = PartitionSpec(
        0,
        tuple(
            PartitionField(field.id, FIRST_PARTITION_FIELD_ID + number, field.name, IdentityTransform())
            for number, field in enumerate(fields)
        ),
    )
    ((partition, _),) = Partitioner(schema, spec).split(Aligner(schema, table_name).align(columns))
    return partition
