"""rewrite_manifests: makes few manifests of many, sorted by partitions, so that queries read fewer of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.commit.actions.manifest_rewrite import CREATED, REPLACED, RewriteManifests
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec


def rewrite_manifests(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the numbers of manifests that were replaced and created. Raises AnalysisError for a spec that the table does
    not have, or a field that the spec does not have; otherwise as `RewriteManifests`.

    `use_caching` concerns the rows of Spark jobs, of which there are none.
    """
    arguments = invocation.arguments
    table = invocation.load(arguments["table"])
    spec = _spec(table.metadata, arguments["spec_id"])
    action = RewriteManifests(spec.spec_id, _sort_by(spec, arguments["sort_by"]))
    snapshot = invocation.environment.commit(invocation.catalog, table, action).snapshot
    if snapshot is None:
        return [(0, 0)]
    return [(int(snapshot.summary[REPLACED]), int(snapshot.summary[CREATED]))]


def _spec(metadata: TableMetadata, spec_id: int | None) -> PartitionSpec:
    specs = metadata.specs_by_id()
    if spec_id is None:
        return metadata.spec()
    if spec_id not in specs:
        known = ", ".join(map(str, sorted(specs)))
        raise REWRITE_MANIFESTS.refused(f"the table has no partition spec {spec_id}; it has {known}")
    return specs[spec_id]


def _sort_by(spec: PartitionSpec, names: Sequence[str] | None) -> tuple[str, ...]:
    """The partition fields that the argument names. Raises AnalysisError."""
    if names is None:
        return ()
    if not names:
        raise REWRITE_MANIFESTS.refused("sort_by is empty; without it entries are sorted by all partition fields")
    known = [field.name for field in spec.fields]
    unknown = [name for name in names if name not in known]
    if unknown:
        fields = ", ".join(known) or "no field"
        raise REWRITE_MANIFESTS.refused(f"sort_by names {unknown[0]}, and partition spec {spec.spec_id} has {fields}")
    return tuple(names)


REWRITE_MANIFESTS = Procedure(
    "rewrite_manifests",
    (
        Parameter("table", "string"),
        Parameter("use_caching", "boolean", required=False),
        Parameter("spec_id", "int", required=False),
        Parameter("sort_by", "array<string>", required=False),
    ),
    (("rewritten_manifests_count", "integer"), ("added_manifests_count", "integer")),
    rewrite_manifests,
)
