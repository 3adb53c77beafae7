"""Named consumers in table state: what they protect, for how long, and that every engine's expiry sees it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from small_tables import Writer, data_file, warehouse_catalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.consumer import (
    CONSUMER_PREFIX,
    Consumer,
    MoveConsumer,
    consumers,
    is_expired,
    require_consumer_id,
)
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.errors import AnalysisError, CorruptionError
from sqlext.spec.metadata.table_metadata import TableMetadata

_DAY_MS = 86_400_000


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def _filled(writer: Writer, snapshots: int) -> tuple[TableMetadata, list[int]]:
    table = writer.create()
    ids = []
    for number in range(snapshots):
        table = writer.commit(AppendFiles([data_file(table.metadata, [number])]), base=table).table
        ids.append(int(str(table.metadata.current_snapshot_id)))
    return table.metadata, ids


def test_a_position_is_protected_by_a_tag(writer: Writer) -> None:
    _, ids = _filled(writer, 4)
    moved = writer.commit(MoveConsumer("c", Consumer(ids[1], ids[1], 5)), base=writer.load()).table.metadata
    assert consumers(moved, "t") == {"c": Consumer(ids[1], ids[1], 5)}
    assert moved.refs["sqlext-consumer-c"].snapshot_id == ids[1]
    assert moved.refs["sqlext-consumer-c"].type == "tag"
    moved = writer.commit(MoveConsumer("c", Consumer(ids[3], ids[3], 6)), base=writer.load()).table.metadata
    gone = writer.commit(MoveConsumer("c", None), base=writer.load()).table.metadata
    assert "sqlext-consumer-c" not in gone.refs


def test_one_that_was_not_heard_of_for_long_is_expired(writer: Writer) -> None:
    _, ids = _filled(writer, 2)
    writer.commit(MoveConsumer("c", Consumer(None, ids[0], 0)), base=writer.load())
    table = writer.commit(ChangeProperties({"consumer.expiration-time": "2 days"}), base=writer.load()).table
    (consumer,) = consumers(table.metadata, "t").values()
    assert not is_expired(table.metadata, consumer, 2 * _DAY_MS)
    assert is_expired(table.metadata, consumer, 2 * _DAY_MS + 1)
    heard = replace(consumer, updated_ms=_DAY_MS)
    assert not is_expired(table.metadata, heard, 2 * _DAY_MS + 1)


def test_queries_without_a_name_that_have_ended_go_with_the_next(writer: Writer) -> None:
    _, ids = _filled(writer, 1)
    at = Consumer(ids[0], ids[0], 0, is_query=True)
    moves = {"named": replace(at, is_query=False), "ended": at, "runs": replace(at, updated_ms=2 * _DAY_MS)}
    for name, consumer in moves.items():
        writer.commit(MoveConsumer(name, consumer), base=writer.load())
    assert consumers(writer.load().metadata, "t") == dict(sorted(moves.items()))
    new = replace(at, updated_ms=5 * _DAY_MS + 1, query="q")
    moved = writer.commit(MoveConsumer("new", new), base=writer.load()).table.metadata
    assert [*consumers(moved, "t")] == ["named", "new", "runs"]
    assert consumers(moved, "t")["new"] == new
    assert "sqlext-consumer-ended" not in moved.refs
    assert {"sqlext-consumer-named", "sqlext-consumer-runs"} <= moved.refs.keys()
    # One that was taken to have ended, and has not.
    again = writer.commit(MoveConsumer("runs", replace(new, updated_ms=9 * _DAY_MS)), base=writer.load()).table.metadata
    assert "runs" in consumers(again, "t")
    assert "sqlext-consumer-runs" in again.refs


def test_a_property_that_is_none_and_names_that_are_none(writer: Writer) -> None:
    writer.create()
    table = writer.commit(ChangeProperties({f"{CONSUMER_PREFIX}c": "7"}), base=writer.load()).table
    with pytest.raises(CorruptionError) as unreadable:
        consumers(table.metadata, "t")
    assert unreadable.value.condition == "CONSUMER_UNREADABLE"
    for name in ("", "a b", "a/b", "-a"):
        with pytest.raises(AnalysisError):
            require_consumer_id(name)
