"""What care of a table would do now, what it would cost, and what it would save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.clone_tag import snapshots_may_expire
from sqlext.command.compaction.compaction_candidates import (
    CompactionCandidates,
    compacts_itself,
    due,
    everything,
)
from sqlext.command.maintenance.expiry_due import expiry_is_due
from sqlext.command.maintenance.unreachable_files import unreachable_files
from sqlext.commit.actions.consumer import consumer_or_none
from sqlext.commit.actions.snapshot_expiry import UNASKED, ExpireSnapshots
from sqlext.properties import MANIFEST_TARGET_SIZE_BYTES, looks_after_itself
from sqlext.scan.metadata_tables.health import Measure, measures
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.scan.scan_plan import FileScanTask, plan_scan
from sqlext.scan.sorted_runs import find_buckets
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.metadata.metadata_update import RemoveSnapshots
from sqlext.storage.in_threads import each_below


def health(catalog: Catalog | None, table: LoadedTable, state: TableState, now_ms: int) -> Sequence[Measure]:
    """The rows of the metadata table `health` of the state, and those of what care would do. Changes nothing.

    `catalog` is None for a table in no catalog. Raises errors of reading, UnsupportedError in a transaction.
    """
    return [*measures(state), *care(catalog, table, state, now_ms)]


def care(catalog: Catalog | None, table: LoadedTable, state: TableState, now_ms: int) -> Iterator[Measure]:
    """What care would do, as of `health`."""
    yield from _compaction(state)
    yield from _manifests(state)
    yield from _expiry(catalog, table, state, now_ms)


def _compaction(state: TableState) -> Iterator[Measure]:
    metadata = state.metadata
    listed = () if state.snapshot is None else state.manifests.manifests(state.io, state.snapshot)
    buckets = find_buckets(state.manifests.live_entries_of(state.io, listed, metadata))

    def tasks() -> Mapping[str, FileScanTask]:
        snapshot, manifests = state.snapshot, state.manifests
        return plan_scan(state.io, metadata, snapshot, AlwaysTrue(), manifests=manifests, keep_deleted=True).by_path()

    by_itself = "done after commits" if compacts_itself(metadata) else "CALL compact"
    yield _rewrite("compaction that is due", due(metadata, buckets, tasks), by_itself)
    yield _rewrite("full compaction", everything(metadata, buckets, tasks, tells=False), "CALL compact(full => true)")


def _rewrite(name: str, found: CompactionCandidates, done_by: str) -> Measure:
    """The files that are rewritten, with their bytes, which are read and about as many written."""
    files = sum(len(merge.files) for merge in found.merges)
    made = files - sum(merge.saved_files for merge in found.merges)
    told = [f"{done_by}: makes {made} file{'' if made == 1 else 's'} of them" if files else done_by]
    if found.marks:
        told.append("converts equality deletes before")
    if found.merged_deletes:
        told.append(f"merges position-delete files of {len(found.merged_deletes)} partitions")
    return Measure(name, files, sum(merge.bytes for merge in found.merges), "; ".join(told))


def _manifests(state: TableState) -> Iterator[Measure]:
    if state.snapshot is None:
        return
    listed = state.manifests.manifests(state.io, state.snapshot)
    size = sum(one.length for one in listed)
    kinds = {(one.content, one.spec_id): 0 for one in listed}
    for one in listed:
        kinds[one.content, one.spec_id] += one.length
    most = MANIFEST_TARGET_SIZE_BYTES.of(state.metadata.properties)
    needed = sum(-(-length // most) for length in kinds.values())
    more = max(0, len(listed) - needed)
    yield Measure("manifests more than needed", more, size if more else 0, "CALL rewrite_manifests")


def _expiry(catalog: Catalog | None, table: LoadedTable, state: TableState, now_ms: int) -> Iterator[Measure]:
    """The snapshots that expire by the table's properties, and the bytes of files that only they need."""
    metadata = state.metadata
    if not snapshots_may_expire(metadata):
        yield Measure("snapshots that have expired", None, None, "gc.enabled is false: files are not the table's alone")
        return
    is_due = looks_after_itself(metadata.properties) and expiry_is_due(metadata, now_ms)
    found = (UNASKED if is_due else ExpireSnapshots()).expired(metadata, metadata.location, now_ms)
    gone = found.snapshot_ids
    files = _expirable_files(catalog, table, state, gone) if gone and catalog is not None else frozenset()
    sizes = {one.path: one.size for one in state.io.list(metadata.location)} if files else {}
    done_by = "done after the next commit" if is_due else "CALL expire_snapshots"
    told = f"{done_by}: deletes {len(files)} files"
    yield Measure("snapshots that have expired", len(gone), sum(sizes.get(path, 0) for path in files), told)
    for name, kept in found.kept_for.items():
        known = consumer_or_none(metadata, str(table.identifier), name)
        query = "" if known is None or known.query is None else f", query {known.query}"
        yield Measure("snapshots that stay for a consumer alone", len(kept), None, f"consumer {name}{query}")


def _expirable_files(catalog: Catalog, table: LoadedTable, state: TableState, gone: tuple[int, ...]) -> frozenset[str]:
    """The table's own files that nothing needs without the snapshots `gone`."""
    owns = catalog.owned_by(table)
    before, each = state.metadata, each_below(state.metadata.location)
    files = unreachable_files(state.io, state.manifests, before, RemoveSnapshots(gone).apply(before), each)
    return frozenset(path for paths in files.in_order for path in paths if owns(path))
