"""Filters whose residual is True for all files of a scan, so that no row needs to be tested."""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO

# With more files only partition specs are used, since to test each file would cost more than it may save.
_MOST_FILES = 50_000


def answered_filters(
    io: FileIO,
    metadata: TableMetadata,
    snapshot: Snapshot | None,
    schema: Schema,
    planned_by: Predicate,
    filters: Sequence[Predicate | None],
    *,
    manifests: ManifestCache,
) -> list[bool]:
    """Whether, by metadata, all rows of the scanned files satisfy a filter, for each of `filters`.

    The scanned files are those that may match `planned_by`, which implies each filter. A filter that no predicate
    expresses exactly is None, and gives False. `schema` has the fields of all predicates. Raises NotFoundError,
    CorruptionError or UnsupportedError for manifests.
    """
    specs = metadata.specs_by_id()
    tests = [None if one is None else FileFilter(one, schema=schema, specs=specs) for one in filters]
    files = FileFilter(planned_by, schema=schema, specs=specs)
    listed = [] if snapshot is None else manifests.manifests(io, snapshot)
    data = [one for one in listed if one.content == ManifestContent.DATA and files.manifest_may_match(one)]
    spec_ids = {one.spec_id for one in data}
    by_partitioning = [test is not None and all(map(test.is_answered_by, spec_ids)) for test in tests]
    counts = [((one.added_files_count or 0) + (one.existing_files_count or 0)) for one in data]
    open_tests = {i: test for i, test in enumerate(tests) if test is not None and not by_partitioning[i]}
    if sum(counts) > _MOST_FILES:
        return by_partitioning
    for contents in manifests.contents(io, data, metadata):
        if not open_tests:
            break
        if contents.columns is None:
            matching = [entry.file for entry in contents.live_entries() if files.file_may_match(entry.file)]
            open_tests = {i: test for i, test in open_tests.items() if all(map(test.file_must_match, matching))}
            continue
        for part in contents.columns:
            rows = files.files_may_match(part)
            open_tests = {i: test for i, test in open_tests.items() if test.files_must_match(part, rows)}
    return [answered or i in open_tests for i, answered in enumerate(by_partitioning)]
