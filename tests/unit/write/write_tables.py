"""Small schemas, plans and batches that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from sqlext.spec.partition_spec import UNPARTITIONED, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.types import LongType, NestedField, StringType
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.metrics import MetricsConfig
from sqlext.write.write_plan import WritePlan

OPERATION_ID = "0b5f6c1e-1111-4222-8333-444455556666"
KEYED = Schema(
    (
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "name", StringType()),
    ),
    identifier_field_ids=(1,),
)


def plan(folder: Path, schema: Schema = KEYED, spec: PartitionSpec = UNPARTITIONED, **changes: Any) -> WritePlan:
    values: dict[str, Any] = {
        "table_name": "lake.db.t",
        "schema": schema,
        "spec": spec,
        "specs": (spec,),
        "format_version": 2,
        "data_location": f"file://{folder}/data",
        "operation_id": OPERATION_ID,
        "sort_order_id": 0,
        "target_file_size": 512 << 20,
        "row_group_size": 128 << 20,
        "compression": "zstd",
        "compression_level": None,
        "metrics": MetricsConfig(None),
    }
    return WritePlan(**(values | changes))


def batch(schema: Schema, *columns: list[Any]) -> pa.RecordBatch:
    arrow = schema_to_arrow(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, arrow, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow)


def keyed(ids: Any, name: str = "n") -> pa.RecordBatch:
    ids = list(ids)
    return batch(KEYED, ids, [f"{name}{id}" for id in ids])


def local(location: str) -> str:
    return location.removeprefix("file://")


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
