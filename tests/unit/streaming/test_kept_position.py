"""Positions that tables keep for streams: how often they are told, by whom, and what happens if they cannot be."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from sqlext.commit.actions.consumer import Consumer, consumers
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.errors import StorageError
from sqlext.streaming.kept_position import KeptPositions, QuerySource
from unit.command.lake import Lake

SOURCE = QuerySource("3c1b", "nightly", "0", False)
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


class Stream:
    """A stream that reads the table `t`, whose snapshots are `ids`."""

    def __init__(self, folder: Path, source: QuerySource = SOURCE) -> None:
        self.lake = Lake(folder)
        self.lake.create("CREATE TABLE t (id BIGINT)")
        self.ids = [int(str(self.lake.append(id=[id]).metadata.current_snapshot_id)) for id in range(4)]
        self.source = source
        self.positions = KeptPositions(self.lake.environment)

    def at(self, number: int) -> Consumer:
        id = self.ids[number]
        return Consumer(id, id, self.lake.clock(), query=self.source.told)

    def reads(self, number: int, *, ends: bool = False) -> None:
        self.positions.keep_query("lake", self.lake.load(), "lake.db.t", self.source, self.at(number), ends=ends)

    @property
    def kept(self) -> int | None:
        """The number of the snapshot that the table keeps for the query."""
        known = consumers(self.lake.load().metadata, "t").get(self.source.consumer_id)
        if known is None:
            return None
        assert known.is_query
        tag = self.lake.load().metadata.refs[f"sqlext-consumer-{self.source.consumer_id}"]
        assert tag.snapshot_id == known.needed_id
        return self.ids.index(tag.snapshot_id)

    def versions(self) -> int:
        return len(self.lake.load().metadata.metadata_log)


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    return Stream(tmp_path)


def test_a_query_is_followed_each_minute_and_at_its_end(stream: Stream) -> None:
    before = stream.versions()
    for number in (0, 1, 2):
        stream.reads(number)
    assert (stream.kept, stream.versions()) == (0, before + 1)
    stream.lake.clock.now_ms += MINUTE_MS
    stream.reads(2)
    stream.reads(3)
    assert (stream.kept, stream.versions()) == (2, before + 2)
    stream.reads(3, ends=True)
    assert (stream.kept, stream.versions()) == (3, before + 3)


def test_one_that_waits_costs_a_commit_a_day(stream: Stream) -> None:
    stream.reads(3)
    before = stream.versions()
    for _ in range(24):
        stream.lake.clock.now_ms += HOUR_MS
        stream.reads(3)
        stream.reads(3, ends=True)
    assert stream.versions() == before
    for _ in range(24):
        stream.lake.clock.now_ms += HOUR_MS
        stream.reads(3)
    assert stream.versions() == before + 1


def test_a_shorter_expiration_time_is_kept_up_with(stream: Stream) -> None:
    stream.lake.commit(ChangeProperties({"consumer.expiration-time": "4 h"}))
    stream.reads(3)
    before = stream.versions()
    for _ in range(4):
        stream.lake.clock.now_ms += HOUR_MS
        stream.reads(3)
    assert stream.versions() == before + 4


def test_a_clock_that_went_back_stops_nothing(stream: Stream) -> None:
    stream.reads(0)
    stream.lake.clock.now_ms -= HOUR_MS
    stream.reads(1)
    assert stream.kept == 1


def test_a_named_consumer_is_exact(stream: Stream) -> None:
    for number in (0, 0, 1, 1, 2):
        stream.positions.keep("lake", stream.lake.load(), "lake.db.t", "job", stream.at(number))
    found = consumers(stream.lake.load().metadata, "t")
    assert [*found] == ["job"]
    assert found["job"].is_where(stream.at(2))
    assert not found["job"].is_query


def test_sources_of_one_query_are_told_apart(tmp_path: Path) -> None:
    stream = Stream(tmp_path, QuerySource("3c1b", None, "1", False))
    stream.reads(1)
    assert [*consumers(stream.lake.load().metadata, "t")] == ["query-3c1b-1"]
    assert consumers(stream.lake.load().metadata, "t")["query-3c1b-1"].query == "3c1b"


def test_a_query_is_forgotten(stream: Stream) -> None:
    stream.positions.forget("lake", stream.lake.load(), stream.source)
    before = stream.versions()
    stream.reads(1)
    stream.positions.forget("lake", stream.lake.load(), stream.source)
    assert (stream.kept, stream.versions()) == (None, before + 2)


def test_a_table_that_cannot_be_changed_is_read_all_the_same(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries = []

    def refuse(*arguments: object) -> None:
        tries.append(stream.lake.clock())
        raise StorageError("STORAGE_FAILURE", operation="Writing", path="x", reason="access denied")

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "sqlext"):
        patched.setattr(stream.lake.catalog, "commit", refuse)
        for _ in range(2):
            stream.reads(0)
            stream.reads(1)
            stream.lake.clock.now_ms += MINUTE_MS
    assert len(tries) == 2
    (told,) = [record.message for record in caplog.records if "access denied" in record.message]
    assert "nightly has yet to read of lake.db.t may expire" in told
    stream.reads(1)
    assert stream.kept == 1
