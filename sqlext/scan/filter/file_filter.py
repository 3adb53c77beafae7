"""The manifests and content files that may have rows matching a predicate (spec: "Scan Planning")."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from sqlext.scan.filter import column_pruning
from sqlext.scan.filter.column_pruning import metrics_may_match, partitions_may_match
from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.scan.filter.partition_outcomes import partition_outcomes
from sqlext.scan.filter.projection import project
from sqlext.scan.filter.pruning import (
    ANY_OUTCOME,
    Outcome,
    combined,
    manifest_ranges,
    may_match,
    metrics_ranges,
    outcomes,
    partition_ranges,
)
from sqlext.scan.filter.value_range import UNKNOWN_RANGE, RangeOf
from sqlext.spec.avro.column import Mask
from sqlext.spec.expression import AlwaysTrue, Predicate, referenced_field_ids
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestFile
from sqlext.spec.manifests.manifest_columns import ManifestColumns
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import Type

PartitionKey = tuple[int, tuple[Any, ...]]


def partition_key(file: ContentFile) -> PartitionKey:
    """A hashable key of a file's partition, in which NaN equals itself and -0.0 differs from 0.0."""
    return file.spec_id, tuple(repr(value) if isinstance(value, float) else value for value in file.partition)


class FileFilter:
    """A row predicate, tested on manifests by their summaries and on files by partition and metrics.

    `…_may_match` is False only if no row matches, `…_must_match` True only if all rows match. Not thread-safe.
    """

    def __init__(
        self,
        predicate: Predicate,
        *,
        schema: Schema,
        specs: Mapping[int, PartitionSpec],
        paths: AbstractSet[str] | None = None,
    ) -> None:
        """`schema` has the fields of `predicate`; `specs` are all specs of the table. Data files at other paths than
        `paths`, if given, do not match."""
        self._predicate = predicate
        self._schema = schema
        self._specs = specs
        self._paths = paths
        self._columns = metrics_columns((schema,))
        self._keeps_all = isinstance(predicate, AlwaysTrue)
        self._types_by_spec: dict[int, Mapping[int, Type]] = {}
        self._projections: dict[int, Predicate] = {}
        self._partitions: dict[PartitionKey, bool] = {}
        self._whole_partitions: dict[PartitionKey, bool] = {}

    def manifest_may_match(self, manifest: ManifestFile) -> bool:
        """Whether a data file of the manifest, or one to which its delete files apply, may match.

        Delete files of an unpartitioned spec, which apply to all partitions, have no summary that could exclude them.
        """
        if not manifest.has_live_files:
            return False
        if self._keeps_all:
            return True
        spec = self._specs.get(manifest.spec_id)
        if spec is None:
            return True
        return may_match(
            self._projection(manifest.spec_id), manifest_ranges(manifest, spec, self._partition_types(manifest.spec_id))
        )

    def file_may_match(self, file: ContentFile) -> bool:
        """Whether a data file may have matching rows, or a delete file may delete some."""
        if file.record_count == 0:
            return False
        if self._paths is not None and file.content == Content.DATA and file.file_path not in self._paths:
            return False
        if self._keeps_all:
            return True
        return self.partition_may_match(file) and self._metrics_may_match(file)

    def files_may_match(self, columns: ManifestColumns) -> Mask:
        """Whether each entry is live and `file_may_match` is true of its file."""
        may_match: Mask = columns.is_live & (columns.record_count.array() != 0)
        if self._paths is not None:
            may_match &= (columns.content.array() != Content.DATA) | columns.is_at(self._paths)
        if self._keeps_all or not may_match.any():
            return may_match
        if columns.partition:
            may_match &= partitions_may_match(self._projection(columns.spec_id), columns, self._specs[columns.spec_id])
        content = columns.content.array()
        if (content == Content.DATA).any():
            may_match &= (content != Content.DATA) | metrics_may_match(self._predicate, columns, self._columns)
        keyed = np.flatnonzero(content == Content.EQUALITY_DELETES).tolist()
        by_key: dict[tuple[int, ...], list[int]] = {}
        for row, ids in zip(keyed, columns.equality_ids(keyed), strict=True):
            by_key.setdefault(ids or (), []).append(row)
        for ids, rows in by_key.items():
            key = {field_id: self._columns[field_id] for field_id in ids if field_id in self._columns}
            may_match[rows] &= metrics_may_match(self._predicate, columns, key)[rows]
        return may_match

    def partition_may_match(self, file: ContentFile) -> bool:
        """Whether rows of the file's partition may match, without metrics."""
        key = partition_key(file)
        if key not in self._partitions:
            ranges = partition_ranges(file.partition, self._specs[file.spec_id])
            self._partitions[key] = may_match(self._projection(file.spec_id), ranges)
        return self._partitions[key]

    def file_must_match(self, file: ContentFile) -> bool:
        """Whether partition, by any transform, and metrics of a data file prove that all its rows match."""
        return self.partition_must_match(file) or self._must_match(file, metrics_ranges(file, self._columns))

    def files_must_match(self, columns: ManifestColumns, rows: Mask) -> bool:
        """Whether `file_must_match` is true of all entries in the mask `rows`."""
        if self._keeps_all or not rows.any():
            return True
        matching = column_pruning.must_match(self._predicate, columns, self._specs[columns.spec_id], self._columns)
        return bool(matching[rows].all())

    def partition_must_match(self, file: ContentFile) -> bool:
        """Whether the values of the file's partition prove that all its rows match, without metrics."""
        if self._keeps_all:
            return True
        key = partition_key(file)
        if key not in self._whole_partitions:
            self._whole_partitions[key] = self._must_match(file, lambda _: UNKNOWN_RANGE)
        return self._whole_partitions[key]

    def _must_match(self, file: ContentFile, range_of: RangeOf) -> bool:
        spec = self._specs[file.spec_id]

        def of_term(term: Any) -> Outcome:
            found = outcomes(term, range_of)
            for field, value in zip(spec.fields, file.partition, strict=True):
                if field.source_id == term.id and term.id in self._columns:
                    found &= partition_outcomes(term, field, self._columns[term.id].type, value)
            return found or ANY_OUTCOME  # partition and metrics contradict

        return not combined(self._predicate, of_term) & (Outcome.FALSE | Outcome.UNKNOWN)

    def is_answered_by(self, spec_id: int) -> bool:
        """Whether all fields of the predicate are identity fields of the spec, so that a partition matches or not."""
        spec = self._specs[spec_id]
        kept = {field.source_id for field in spec.fields if isinstance(field.transform, IdentityTransform)}
        return self._keeps_all or referenced_field_ids(self._predicate) <= kept

    def _metrics_may_match(self, file: ContentFile) -> bool:
        if file.content == Content.POSITION_DELETES:  # has metrics of paths and positions
            return True
        columns = self._columns
        if file.content == Content.EQUALITY_DELETES:  # only key columns decide which rows it deletes
            columns = {field_id: columns[field_id] for field_id in file.equality_ids or () if field_id in columns}
        return may_match(self._predicate, metrics_ranges(file, columns))

    def _partition_types(self, spec_id: int) -> Mapping[int, Type]:
        if spec_id not in self._types_by_spec:
            fields = self._specs[spec_id].partition_type(self._schema).fields
            self._types_by_spec[spec_id] = {field.id: field.type for field in fields}
        return self._types_by_spec[spec_id]

    def _projection(self, spec_id: int) -> Predicate:
        if spec_id not in self._projections:
            self._projections[spec_id] = project(self._predicate, self._specs[spec_id], self._schema)
        return self._projections[spec_id]
