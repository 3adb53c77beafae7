"""Which snapshots and references of a table have expired (spec: Snapshot Retention Policy)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """What is kept, where a branch or tag does not say otherwise; times are milliseconds since 1970.

    Of each branch the newest `min_snapshots_to_keep` snapshots are kept, and those that are not older than
    `older_than_ms`. A branch or tag itself, other than main, is kept while its snapshot is at most `max_ref_age_ms`
    old; None: for ever. `snapshot_ids` expire whatever their age.

    Ages count from the commit of a snapshot, and with `since_replaced` from when another one took its place: what was
    read a moment ago is not old.
    """

    older_than_ms: int
    min_snapshots_to_keep: int
    max_ref_age_ms: int | None
    snapshot_ids: frozenset[int] = frozenset()
    since_replaced: bool = False


@dataclass(frozen=True, slots=True)
class Reader:
    """Who has read `branch` up to the snapshot `needed_id` (None: nothing), and needs that snapshot to go on; with
    `reads_on`, also all that follow.

    Its tag keeps the snapshot for engines that know no readers.
    """

    name: str
    tag: str
    branch: str
    needed_id: int | None
    reads_on: bool = True


@dataclass(frozen=True, slots=True)
class Expired:
    """Names of references and ids of snapshots, in the order in which the table lists them.

    `kept_for` has the snapshots by the name of the reader without which they would have expired.
    """

    refs: tuple[str, ...]
    snapshot_ids: tuple[int, ...]
    kept_for: Mapping[str, frozenset[int]] = field(default_factory=dict)


def expired(
    metadata: TableMetadata,
    policy: RetentionPolicy,
    now_ms: int,
    ended: frozenset[str],
    readers: Sequence[Reader] = (),
) -> Expired:
    """What has expired by `policy`; the references `ended` count as expired, and what `readers` need has not.

    A snapshot on no branch or tag that is kept expires by its age alone. The snapshot of a kept reference never
    expires, nor does one that a reader needs, even if it is one of `policy.snapshot_ids`.
    """
    by_id = {one.snapshot_id: one for one in metadata.snapshots}
    refs = {
        name: ref
        for name, ref in metadata.refs.items()
        if name == MAIN_BRANCH or (name not in ended and _is_kept(ref, by_id, policy, now_ms))
    }
    tags = {reader.tag for reader in readers}
    referred = {ref.snapshot_id for name, ref in refs.items() if name not in tags}
    kept = set(referred)
    on_a_branch = {ref.snapshot_id for ref in refs.values()}
    for ref in refs.values():
        if ref.type != "branch":
            continue
        history = list(_ancestors(by_id, ref.snapshot_id))
        on_a_branch.update(one.snapshot_id for one in history)
        kept.update(_newest(history, ref, policy, now_ms))
    replaced_ms = _replaced_ms(metadata) if policy.since_replaced else {}
    for snapshot in metadata.snapshots:
        since_ms = max(snapshot.timestamp_ms, replaced_ms.get(snapshot.snapshot_id, 0))
        if snapshot.snapshot_id not in on_a_branch and since_ms >= policy.older_than_ms:
            kept.add(snapshot.snapshot_id)
    kept -= policy.snapshot_ids - referred
    needed = {reader.name: _needed(metadata, by_id, reader) for reader in readers}
    kept_for = {name: ids - kept for name, ids in needed.items() if ids - kept}
    kept.update(*needed.values(), (ref.snapshot_id for ref in refs.values()))
    return Expired(
        tuple(name for name in metadata.refs if name not in refs),
        tuple(one for one in by_id if one not in kept),
        kept_for,
    )


def unread(metadata: TableMetadata, reader: Reader) -> frozenset[int] | None:
    """The snapshots that follow the reader's position on its branch; None if that is not, or no longer, in the history
    of the branch."""
    by_id = {one.snapshot_id: one for one in metadata.snapshots}
    head = metadata.refs.get(reader.branch)
    after: list[int] = []
    for snapshot in _ancestors(by_id, None if head is None else head.snapshot_id):
        if snapshot.snapshot_id == reader.needed_id:
            return frozenset(after)
        after.append(snapshot.snapshot_id)
        if snapshot.parent_snapshot_id == reader.needed_id:
            return frozenset(after)
    return None


def _needed(metadata: TableMetadata, by_id: Mapping[int, Snapshot], reader: Reader) -> frozenset[int]:
    own = frozenset((reader.needed_id,)) & by_id.keys() if reader.needed_id is not None else frozenset()
    return own | (unread(metadata, reader) or frozenset()) if reader.reads_on else own


def _is_kept(ref: SnapshotReference, by_id: Mapping[int, Snapshot], policy: RetentionPolicy, now_ms: int) -> bool:
    snapshot = by_id.get(ref.snapshot_id)
    age_ms = policy.max_ref_age_ms if ref.max_ref_age_ms is None else ref.max_ref_age_ms
    return snapshot is not None and (age_ms is None or now_ms - snapshot.timestamp_ms <= age_ms)


def _newest(history: list[Snapshot], ref: SnapshotReference, policy: RetentionPolicy, now_ms: int) -> Iterator[int]:
    """Ids of the snapshots of a branch, newest first, up to the first that the branch does not keep."""
    older_than_ms = policy.older_than_ms if ref.max_snapshot_age_ms is None else now_ms - ref.max_snapshot_age_ms
    least = policy.min_snapshots_to_keep if ref.min_snapshots_to_keep is None else ref.min_snapshots_to_keep
    replaced_ms = None
    for number, snapshot in enumerate(history):
        since_ms = replaced_ms if policy.since_replaced and replaced_ms is not None else snapshot.timestamp_ms
        if number >= least and since_ms < older_than_ms:
            return
        yield snapshot.snapshot_id
        replaced_ms = snapshot.timestamp_ms


def _replaced_ms(metadata: TableMetadata) -> Mapping[int, int]:
    """When snapshots of main's log were last replaced by another, also by a rollback or a new table."""
    log = metadata.snapshot_log
    return {before.snapshot_id: after.timestamp_ms for before, after in pairwise(log)}


def _ancestors(by_id: Mapping[int, Snapshot], snapshot_id: int | None) -> Iterator[Snapshot]:
    """The snapshot and its ancestors, as far as the table still has them; a damaged history that turns in a circle ends
    where it meets itself."""
    seen: set[int] = set()
    while snapshot_id is not None and snapshot_id not in seen and snapshot_id in by_id:
        seen.add(snapshot_id)
        yield by_id[snapshot_id]
        snapshot_id = by_id[snapshot_id].parent_snapshot_id
