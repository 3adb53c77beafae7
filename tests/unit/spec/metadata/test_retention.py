"""Which snapshots and references expire, beside a plain reading of Iceberg's rules."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sqlext.spec.metadata.reference import SnapshotReference
from sqlext.spec.metadata.retention import Expired, Reader, RetentionPolicy, expired, unread
from sqlext.spec.metadata.snapshot import Snapshot, SnapshotLogEntry
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.types import LongType, NestedField

SCHEMA = Schema((NestedField(1, "id", LongType()),))
UUID = "f46e96fd-7174-44e9-9c48-e25b2eb790e0"
NOW_MS = 1_000
AGED = RetentionPolicy(older_than_ms=NOW_MS, min_snapshots_to_keep=1, max_ref_age_ms=None)


def table(parents: dict[int, int | None], times: dict[int, int], **refs: SnapshotReference) -> TableMetadata:
    """Snapshots by id, each with its parent and its time."""
    empty = new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, "file:///t", {}, 2, UUID, 0)
    snapshots = tuple(Snapshot(id, parent, id, times.get(id, 0), f"l{id}", {}) for id, parent in parents.items())
    main = refs.get("main")
    return replace(empty, snapshots=snapshots, refs=refs, current_snapshot_id=main and main.snapshot_id)


def line(count: int, **refs: SnapshotReference) -> TableMetadata:
    """Snapshots 1, 2, … one after the other, each at the time of its id."""
    parents = {id: id - 1 or None for id in range(1, count + 1)}
    return table(parents, {id: id for id in parents}, main=SnapshotReference(count), **refs)


def gone(metadata: TableMetadata, policy: RetentionPolicy = AGED, *ended: str) -> Expired:
    return expired(metadata, policy, NOW_MS, frozenset(ended))


def test_the_head_of_main_stays_however_old_it_is() -> None:
    assert gone(line(3)) == Expired((), (1, 2))


def test_a_number_of_snapshots_stays() -> None:
    assert gone(line(5), replace(AGED, min_snapshots_to_keep=3)) == Expired((), (1, 2))


def test_young_ones_stay() -> None:
    assert gone(line(5), replace(AGED, older_than_ms=4)) == Expired((), (1, 2, 3))


def test_a_snapshot_as_old_as_the_limit_stays() -> None:
    assert 4 not in gone(line(5), replace(AGED, older_than_ms=4)).snapshot_ids


def test_what_was_current_at_the_limit_stays_where_the_age_counts_from_the_replacement() -> None:
    policy = replace(AGED, older_than_ms=800, since_replaced=True)
    weekly = table({1: None, 2: 1, 3: 2, 4: 3}, {1: 100, 2: 500, 3: 850, 4: 990}, main=SnapshotReference(4))
    assert gone(weekly, replace(policy, since_replaced=False)) == Expired((), (1, 2))
    assert gone(weekly, policy) == Expired((), (1,))
    side = SnapshotReference(4, "branch", max_snapshot_age_ms=NOW_MS - 600)
    assert gone(replace(weekly, refs={**weekly.refs, "side": side}), policy) == Expired((), (1,))


def test_what_a_rollback_has_just_replaced_is_young() -> None:
    policy = replace(AGED, older_than_ms=800, since_replaced=True)
    metadata = table({1: None, 2: 1, 3: 1, 4: 1}, {1: 100, 2: 200, 3: 300, 4: 400}, main=SnapshotReference(1))
    log = ((100, 1), (200, 2), (300, 1), (350, 3), (900, 1))
    metadata = replace(metadata, snapshot_log=tuple(SnapshotLogEntry(at, id) for at, id in log))
    assert gone(metadata, policy) == Expired((), (2, 4))
    assert gone(metadata, replace(policy, since_replaced=False)) == Expired((), (2, 3, 4))


def test_what_a_branch_says_of_itself_comes_first() -> None:
    branch = SnapshotReference(5, "branch", min_snapshots_to_keep=2, max_snapshot_age_ms=NOW_MS - 3)
    assert gone(line(6, side=branch)) == Expired((), (1, 2))
    assert gone(line(6, side=replace(branch, max_snapshot_age_ms=0))) == Expired((), (1, 2, 3))


def test_the_history_of_a_branch_ends_at_its_first_expired_snapshot() -> None:
    """A clock that went back leaves an old snapshot after a young one."""
    metadata = table({1: None, 2: 1, 3: 2}, {1: 900, 2: 5, 3: 900}, main=SnapshotReference(3))
    assert gone(metadata, replace(AGED, older_than_ms=800)) == Expired((), (1, 2))


def test_a_tag_keeps_its_snapshot_and_no_other() -> None:
    assert gone(line(5, kept=SnapshotReference(3, "tag"))) == Expired((), (1, 2, 4))


def test_references_grow_old_but_for_main() -> None:
    policy = replace(AGED, max_ref_age_ms=NOW_MS - 3)
    metadata = line(5, old=SnapshotReference(2, "tag"), young=SnapshotReference(3, "tag"))
    assert gone(metadata, policy) == Expired(("old",), (1, 2, 4))
    own = line(5, old=SnapshotReference(2, "tag", max_ref_age_ms=NOW_MS))
    assert gone(own, policy) == Expired((), (1, 3, 4))


def test_a_reference_to_a_missing_snapshot_goes() -> None:
    assert gone(line(2, lost=SnapshotReference(9, "tag"))) == Expired(("lost",), (1,))


def test_a_reference_that_has_ended_protects_nothing() -> None:
    assert gone(line(3, done=SnapshotReference(1, "tag")), AGED, "done") == Expired(("done",), (1, 2))


def test_a_snapshot_on_no_branch_expires_by_its_age() -> None:
    metadata = table({1: None, 2: 1, 3: 1}, {1: 10, 2: 20, 3: 30}, main=SnapshotReference(2))
    policy = replace(AGED, older_than_ms=25, min_snapshots_to_keep=2)
    assert gone(metadata, policy) == Expired((), ())
    assert gone(metadata, replace(policy, older_than_ms=35)) == Expired((), (3,))


def test_named_snapshots_expire_whatever_their_age() -> None:
    policy = RetentionPolicy(0, 1, None, frozenset({2}))
    assert gone(line(4), policy) == Expired((), (2,))


def test_a_named_snapshot_that_a_reference_needs_stays() -> None:
    policy = RetentionPolicy(0, 1, None, frozenset({2, 4}))
    assert gone(line(4, kept=SnapshotReference(2, "tag")), policy) == Expired((), ())


def reading(metadata: TableMetadata, *readers: Reader, policy: RetentionPolicy = AGED) -> Expired:
    return expired(metadata, policy, NOW_MS, frozenset(), readers)


def test_what_a_reader_has_yet_to_read_stays_and_is_told() -> None:
    at_two, tag = Reader("job", "tag", "main", 2), SnapshotReference(2, "tag")
    assert reading(line(5, tag=tag), at_two) == Expired((), (1,), {"job": frozenset({2, 3, 4})})
    assert reading(line(5), replace(at_two, needed_id=5)) == Expired((), (1, 2, 3, 4))
    assert reading(line(3), replace(at_two, needed_id=None)).snapshot_ids == ()
    silent = reading(line(5, tag=tag), replace(at_two, reads_on=False))
    assert silent == Expired((), (1, 3, 4), {"job": frozenset({2})})


def test_a_reader_of_what_is_kept_anyway_keeps_nothing() -> None:
    policy = replace(AGED, min_snapshots_to_keep=3)
    assert reading(line(5), Reader("job", "tag", "main", 3), policy=policy) == Expired((), (1, 2))


def test_a_reader_keeps_its_branch_and_no_other() -> None:
    metadata = table({1: None, 2: 1, 3: 2, 4: 1, 5: 4}, {}, main=SnapshotReference(3), side=SnapshotReference(5))
    assert reading(metadata, Reader("job", "tag", "side", 1)) == Expired((), (2,), {"job": frozenset({1, 4})})


def test_a_reader_whose_position_is_in_no_history() -> None:
    """It was rolled back, so that only the position itself can be needed; or it is gone."""
    metadata = table({1: None, 2: 1, 3: 1, 4: 3}, {}, main=SnapshotReference(4))
    assert reading(metadata, Reader("job", "tag", "main", 2)) == Expired((), (1, 3), {"job": frozenset({2})})
    assert reading(metadata, Reader("job", "tag", "gone", 3)) == Expired((), (1, 2), {"job": frozenset({3})})
    assert reading(metadata, Reader("job", "tag", "main", 9)) == Expired((), (1, 2, 3))
    assert unread(metadata, Reader("job", "tag", "main", 9)) is None
    assert unread(metadata, Reader("job", "tag", "main", 1)) == {3, 4}


def test_a_reader_just_behind_an_expired_position_keeps_what_is_left() -> None:
    """Another engine has expired its snapshot; appends behind it can still be read."""
    metadata = table({4: 3, 5: 4, 6: 5}, {}, main=SnapshotReference(6))
    assert reading(metadata, Reader("job", "tag", "main", 3)) == Expired((), (), {"job": frozenset({4, 5})})


def test_a_named_snapshot_that_a_reader_needs_stays() -> None:
    policy = RetentionPolicy(0, 1, None, frozenset({1, 3}))
    found = reading(line(4), Reader("job", "tag", "main", 2), policy=policy)
    assert found == Expired((), (1,), {"job": frozenset({3})})


def test_a_history_in_a_circle_ends() -> None:
    metadata = table({1: 2, 2: 1}, {1: 1, 2: 2}, main=SnapshotReference(2))
    assert gone(metadata) == Expired((), (1,))


@pytest.mark.parametrize("seed", range(200))
def test_random_tables_are_as_the_rules_say(seed: int) -> None:
    rng = random.Random(seed)
    ids = list(range(1, rng.randint(2, 12)))
    parents = {id: rng.choice([None, *range(1, id)]) for id in ids}
    times = {id: rng.randrange(0, NOW_MS) for id in ids}
    refs = {"main": SnapshotReference(rng.choice(ids))}
    for name in ("a", "b", "c")[: rng.randint(0, 3)]:
        kind = rng.choice(["branch", "tag"])
        refs[name] = SnapshotReference(
            rng.choice(ids),
            "branch" if kind == "branch" else "tag",
            rng.choice([None, 1, 3]) if kind == "branch" else None,
            rng.choice([None, 200, 700]) if kind == "branch" else None,
            rng.choice([None, 100, 600]),
        )
    policy = RetentionPolicy(rng.randrange(0, NOW_MS), rng.randint(1, 3), rng.choice([None, 300]))
    assert gone(table(parents, times, **refs), policy) == _by_the_rules(parents, times, refs, policy), f"seed {seed}"


def _by_the_rules(
    parents: dict[int, int | None], times: dict[int, int], refs: dict[str, SnapshotReference], policy: RetentionPolicy
) -> Expired:
    def age_limit(ref: SnapshotReference) -> int | None:
        return policy.max_ref_age_ms if ref.max_ref_age_ms is None else ref.max_ref_age_ms

    def history(id: int | None) -> list[int]:
        return [] if id is None else [id, *history(parents[id])]

    def too_old(name: str) -> bool:
        limit = age_limit(refs[name])
        return name != "main" and limit is not None and NOW_MS - times[refs[name].snapshot_id] > limit

    old = tuple(name for name in refs if too_old(name))
    staying = [ref for name, ref in refs.items() if name not in old]
    keep: set[int] = set()
    reached: set[int] = set()
    for ref in staying:
        line = history(ref.snapshot_id) if ref.type == "branch" else [ref.snapshot_id]
        reached |= set(line)
        keep.add(ref.snapshot_id)
        least = policy.min_snapshots_to_keep if ref.min_snapshots_to_keep is None else ref.min_snapshots_to_keep
        limit = policy.older_than_ms if ref.max_snapshot_age_ms is None else NOW_MS - ref.max_snapshot_age_ms
        stops = [at for at, id in enumerate(line) if at >= least and times[id] < limit]
        keep |= set(line[: min(stops, default=len(line))])
    keep |= {id for id in parents if id not in reached and times[id] >= policy.older_than_ms}
    return Expired(old, tuple(id for id in parents if id not in keep))
