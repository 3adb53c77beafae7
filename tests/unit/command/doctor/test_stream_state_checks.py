"""The state of streams, consumers and batches in a table's properties, as it should be and damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.doctor.answer import Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.command.doctor.stream_state_checks import stream_state_findings
from sqlext.commit.actions.consumer import Consumer, MoveConsumer, consumer_tag
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import DropReference
from sqlext.commit.actions.stream_progress import StreamProgress
from sqlext.scan.checks.finding import Check
from sqlext.spec.metadata.idempotent_batch import Batch, BatchRun
from sqlext.spec.metadata.stream_state import BATCH_PREFIX, CONSUMER_PREFIX, PROGRESS_PREFIX
from unit.command.lake import NAMESPACE, Lake

DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('consumer.expiration-time'='1 d')")
    made.append(id=[1])
    made.append(id=[2])
    return made


def found(lake: Lake) -> list[str]:
    return [one.found for one in stream_state_findings(lake.load().metadata, "m")]


def consume(lake: Lake, branch: str = "main", needed: int | None = None) -> int:
    head = lake.load().metadata.current_snapshot()
    assert head is not None
    at = head.snapshot_id
    lake.commit(MoveConsumer("c.1", Consumer(at, needed or at, lake.clock(), branch)))
    return at


def put(lake: Lake, **values: str) -> None:
    lake.commit(ChangeProperties(values))


def test_state_that_streams_have_written_is_healthy(lake: Lake) -> None:
    consume(lake)
    batch = Batch("app/1 é", 7)
    put(
        lake,
        **{
            batch.property_name: BatchRun(batch, "r", 5).encode(),
            PROGRESS_PREFIX + "q": StreamProgress("r", 3, {3: "p"}).encode(),
        },
    )
    assert found(lake) == []
    assert consult(lake.environment, "lake", TableIdentifier(NAMESPACE, "t"), Repairing.NOTHING) == []


@pytest.mark.parametrize("name", [CONSUMER_PREFIX + "c", PROGRESS_PREFIX + "q", BATCH_PREFIX + "a%2Fb"])
@pytest.mark.parametrize("text", ["", "{", '{"version":2,"format":2}', "[1]"])
def test_state_that_cannot_be_read_is_told(lake: Lake, name: str, text: str) -> None:
    put(lake, **{name: text})
    (one,) = stream_state_findings(lake.load().metadata, "m")
    assert one.check == Check.UNREADABLE
    assert one.way_out


def test_a_consumer_without_its_tag_is_told(lake: Lake) -> None:
    at = consume(lake)
    lake.commit(DropReference(consumer_tag("c.1"), "tag", if_exists=False))
    (one,) = stream_state_findings(lake.load().metadata, "m")
    assert (one.found, one.expected) == ("no tag for consumer c.1", f"a tag of snapshot {at}, which it needs")


def test_the_tag_of_a_consumer_that_has_expired_may_be_gone(lake: Lake) -> None:
    consume(lake)
    lake.commit(DropReference(consumer_tag("c.1"), "tag", if_exists=False))
    lake.clock.sleep(2 * DAY_MS / 1000)
    lake.append(id=[3])
    assert found(lake) == []


def test_a_consumer_of_a_snapshot_or_branch_that_is_gone_is_told(lake: Lake) -> None:
    consume(lake, branch="b", needed=77)
    assert found(lake) == ["consumer c.1 reads branch b", "consumer c.1 needs snapshot 77"]
