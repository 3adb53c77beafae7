"""When a busy process leaves a table to writers of other engines. Times are milliseconds of the clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from small_tables import SCHEMA, Clock, Writer, data_file, warehouse_catalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.commit.loop.peer_gaps import PeerGaps
from sqlext.commit.loop.transaction import commit
from sqlext.commit.snapshot.engine import ENGINE_NAME
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.sort_order import UNSORTED

START = 1_700_000_000_000
DAY = 24 * 3600 * 1000
TABLE = new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, "/w/db/t", {}, 2, "a table", START)


def _table(*snapshots: tuple[str, int], gap: str | None = None) -> TableMetadata:
    """With a snapshot of each engine at a time."""
    made = tuple(
        Snapshot(number, None, number, ms, "list", {"operation": "append", "engine-name": engine})
        for number, (engine, ms) in enumerate(snapshots, start=1)
    )
    return replace(TABLE, snapshots=made, properties={} if gap is None else {"commit.peer-gap-ms": gap})


def _busy(until: int, every: int = 50) -> PeerGaps:
    """A process that has committed for two seconds, and last at `until`."""
    gaps = PeerGaps()
    for ms in range(until - 2_000, until + 1, every):
        gaps.landed(TABLE.table_uuid, ms)
    return gaps


SHARED = _table(("spark", START - DAY), (ENGINE_NAME, START))


def test_the_second_half_of_each_second_is_the_others() -> None:
    gaps = _busy(START)

    assert [gaps.wait_ms(SHARED, START + ms) for ms in (0, 250, 499, 500, 750, 999)] == [0, 0, 0, 500, 250, 1]


@pytest.mark.parametrize(("gap", "first"), [("0", None), ("1", 999), ("200", 800), ("900", 100)])
def test_the_table_says_how_much_it_is(gap: str, first: int | None) -> None:
    gaps, table = _busy(START), replace(SHARED, properties={"commit.peer-gap-ms": gap})
    waiting = [ms for ms in range(1_000) if gaps.wait_ms(table, START + ms)]

    assert waiting == ([] if first is None else list(range(first, 1_000)))


@pytest.mark.parametrize(
    ("name", "table", "gaps"),
    [
        ("nobody else", _table((ENGINE_NAME, START - DAY), (ENGINE_NAME, START)), _busy(START)),
        ("the others left long ago", _table(("spark", START - 9 * DAY), (ENGINE_NAME, START)), _busy(START)),
        ("it has not committed yet", SHARED, PeerGaps()),
        ("it has paused", SHARED, _busy(START - 1_000)),
        ("its commits are far apart", SHARED, _busy(START, every=1_001)),
        ("its clock was put back", SHARED, _busy(START + DAY)),
        ("another table", replace(SHARED, table_uuid="another"), _busy(START)),
    ],
)
def test_nobody_waits(name: str, table: TableMetadata, gaps: PeerGaps) -> None:
    assert [ms for ms in range(0, 1_000, 10) if gaps.wait_ms(table, START + ms)] == [], name


def test_it_waits_once_it_has_been_busy_for_a_second() -> None:
    gaps = PeerGaps()
    waits = []
    for ms in range(START, START + 3_000, 100):
        waits.append(gaps.wait_ms(SHARED, ms) > 0)
        gaps.landed(TABLE.table_uuid, ms)

    assert waits == [False] * 15 + [True] * 5 + [False] * 5 + [True] * 5


def test_snapshots_that_come_later_are_looked_at() -> None:
    gaps, own = _busy(START), [(ENGINE_NAME, START - DAY + ms) for ms in range(3)]

    assert gaps.wait_ms(_table(*own), START + 900) == 0
    assert gaps.wait_ms(_table(*own, ("spark", START), (ENGINE_NAME, START + 1)), START + 900) == 100
    assert gaps.wait_ms(_table((ENGINE_NAME, START + 1)), START + 900) == 100, "it has expired since"


def test_a_snapshot_is_looked_at_once() -> None:
    class Looks(tuple[Snapshot, ...]):
        seen = 0

        def __reversed__(self) -> Iterable[Snapshot]:  # type: ignore[override]
            for one in self[::-1]:
                Looks.seen += 1
                yield one

    gaps = _busy(START)
    table = _table(*((ENGINE_NAME, START - 5_000 + ms) for ms in range(5_000)))
    table = replace(table, snapshots=Looks(table.snapshots))
    for _ in range(10):
        gaps.wait_ms(table, START + 900)

    assert Looks.seen <= 5_000 + 10 * 2


class Shared(Clock):
    """Whenever somebody waits, another engine commits."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(START)
        self.writer = writer

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        _commit_of_another_engine(self.writer, self.now_ms)


def test_what_lands_in_a_gap_is_met_before_the_attempt(tmp_path: Path) -> None:
    writer = Writer(warehouse_catalog(tmp_path))
    table, queue, clock = writer.create().identifier, AttemptQueue(), Shared(writer)
    _commit_of_another_engine(writer, START)
    attempts = []
    for number in range(60):
        clock.now_ms += 60
        base = writer.load()
        action = AppendFiles((data_file(base.metadata, [number]),))
        given = {"clock": clock, "rng": writer.rng, "sleep": clock.sleep, "queue": queue}
        attempts.append(commit(writer.catalog, table, action, base=base, **given).attempts)

    assert attempts == [1] * 60
    assert len(clock.slept_s) >= 3
    assert max(clock.slept_s) <= 0.5
    assert len(writer.load().metadata.snapshots) == 60 + len(clock.slept_s) + 1


def _commit_of_another_engine(writer: Writer, ms: int) -> None:
    base = writer.load()
    made = Writer(writer.catalog, seed=ms).append(ms, base=base).table
    *earlier, last = made.metadata.snapshots
    others = replace(last, timestamp_ms=ms, summary={**last.summary, "engine-name": "spark"})
    writer.catalog.commit(made.identifier, made, replace(made.metadata, snapshots=(*earlier, others)))
