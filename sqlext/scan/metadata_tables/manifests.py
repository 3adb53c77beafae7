"""manifests and all_manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from sqlext.scan.filter.value_range import decode_bound
from sqlext.scan.metadata_tables.metadata_table import MetadataTable, TableState, fixed
from sqlext.scan.metadata_tables.partition_struct import result_types
from sqlext.spec.manifests.manifest import FieldSummary, ManifestContent, ManifestFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.types import Type

_SUMMARY = pa.struct(
    [
        pa.field("contains_null", pa.bool_(), nullable=False),
        pa.field("contains_nan", pa.bool_()),
        pa.field("lower_bound", pa.string()),
        pa.field("upper_bound", pa.string()),
    ]
)

_MANIFESTS = pa.schema(
    [
        pa.field("content", pa.int32(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("partition_spec_id", pa.int32(), nullable=False),
        pa.field("added_snapshot_id", pa.int64(), nullable=False),
        *(
            pa.field(f"{what}_{of}_files_count", pa.int32(), nullable=False)
            for of in ("data", "delete")
            for what in ("added", "existing", "deleted")
        ),
        pa.field("partition_summaries", pa.list_(pa.field("element", _SUMMARY, nullable=False)), nullable=False),
    ]
)

_ALL_MANIFESTS = pa.schema(
    [
        *_MANIFESTS,
        pa.field("reference_snapshot_id", pa.int64(), nullable=False),
        pa.field("key_metadata", pa.binary()),
    ]
)


def _manifests(state: TableState) -> pa.Table:
    listed = state.manifests.manifests(state.io, state.snapshot) if state.snapshot else ()
    specs = state.metadata.specs_by_id()
    return pa.Table.from_pylist([_manifest_row(one, specs, state.metadata) for one in listed], _MANIFESTS)


def _all_manifests(state: TableState) -> pa.Table:
    """The manifests of all snapshots, once for each snapshot that lists them."""
    specs = state.metadata.specs_by_id()
    rows = [
        {
            **_manifest_row(one, specs, state.metadata),
            "reference_snapshot_id": snapshot.snapshot_id,
            "key_metadata": one.key_metadata,
        }
        for snapshot in state.metadata.snapshots
        for one in state.manifests.manifests(state.io, snapshot)
    ]
    return pa.Table.from_pylist(rows, _ALL_MANIFESTS)


def _manifest_row(
    manifest: ManifestFile, specs: Mapping[int, PartitionSpec], metadata: TableMetadata
) -> dict[str, Any]:
    counts = {
        "added": manifest.added_files_count or 0,
        "existing": manifest.existing_files_count or 0,
        "deleted": manifest.deleted_files_count or 0,
    }
    of = "data" if manifest.content == ManifestContent.DATA else "delete"
    spec = specs[manifest.spec_id]
    types = result_types(spec, metadata)
    return {
        "content": int(manifest.content),
        "path": manifest.path,
        "length": manifest.length,
        "partition_spec_id": manifest.spec_id,
        "added_snapshot_id": manifest.added_snapshot_id,
        **{
            f"{what}_{kind}_files_count": count if kind == of else 0
            for what, count in counts.items()
            for kind in ("data", "delete")
        },
        "partition_summaries": [
            _summary_row(summary, spec, position, types[position])
            for position, summary in enumerate(manifest.partitions or ())
        ],
    }


def _summary_row(summary: FieldSummary, spec: PartitionSpec, position: int, value_type: Type) -> dict[str, Any]:
    transform = spec.fields[position].transform

    def human(bound: bytes | None) -> str | None:
        value = decode_bound(value_type, bound)
        # Transforms whose result type depends on the source type get the result type here.
        return None if value is None else transform.human(value_type, value)

    return {
        "contains_null": summary.contains_null,
        "contains_nan": summary.contains_nan,
        "lower_bound": human(summary.lower_bound),
        "upper_bound": human(summary.upper_bound),
    }


MANIFESTS = MetadataTable(fixed(_MANIFESTS), _manifests)
ALL_MANIFESTS = MetadataTable(fixed(_ALL_MANIFESTS), _all_manifests)
