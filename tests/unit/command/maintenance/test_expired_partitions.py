"""Which partitions are expired: by their values or by their last change."""

from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path

import pytest

from sqlext.command.maintenance.expired_partitions import expired_partitions
from sqlext.commit.actions.spec_change import ChangeSpec, DropField, FieldTerm
from sqlext.commit.rules.partition_time import PartitionTime
from sqlext.commit.rules.retention_rules import PartitionRetention
from sqlext.spec.transform import IdentityTransform
from unit.command.lake import Lake

_DAY_MS = 86_400_000
BY_VALUES = PartitionTime()
DAYS = ["2026-01-01", "2026-01-09", "eu", None]


def paths(lake: Lake, age_days: int, time: PartitionTime | None = BY_VALUES) -> list[str]:
    retention = PartitionRetention(age_days * _DAY_MS, time, 100)
    return [one.path for one in expired_partitions(lake.environment, lake.target(), retention)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, day STRING) PARTITIONED BY (day, bucket(2, id))")
    for day in DAYS:
        lake.append(id=[1], day=[day])
    return lake


def test_by_values(lake: Lake) -> None:
    lake.clock.now_ms = 1_768_003_200_000  # 2026-01-10
    assert paths(lake, 10) == []
    assert paths(lake, 5) == ["day=2026-01-01"]
    assert paths(lake, 0) == ["day=2026-01-01", "day=2026-01-09"]
    assert paths(lake, 1_000_000) == []


def test_by_the_last_change(lake: Lake) -> None:
    lake.clock.now_ms += 3 * _DAY_MS
    lake.append(id=[2], day=["2026-01-09"])
    lake.clock.now_ms += _DAY_MS
    assert paths(lake, 2, None) == ["day=2026-01-01", "day=eu", "day=null"]
    assert paths(lake, 5, None) == []
    assert len(paths(lake, 0, None)) == 4


def test_partitions_of_earlier_specs_are_expired_too(lake: Lake) -> None:
    lake.commit(ChangeSpec((DropField(FieldTerm(("day",), IdentityTransform())),)))
    lake.clock.now_ms = 1_768_003_200_000
    assert paths(lake, 5, PartitionTime("$day")) == ["day=2026-01-01"]


@pytest.mark.parametrize("transform", ["years", "months", "days", "hours"])
def test_no_row_expires_before_its_time(tmp_path: Path, transform: str) -> None:
    """A partition of a transform has rows of a whole year, month, day or hour."""
    lake = Lake(tmp_path)
    lake.create(f"CREATE TABLE t (id BIGINT, at TIMESTAMP_NTZ) PARTITIONED BY ({transform}(at))")
    last = datetime(2026, 12, 31, 23, 59, 59)
    lake.append(id=[1], at=[last])
    last_ms = int(last.replace(tzinfo=timezone.utc).timestamp() * 1000)
    lake.clock.now_ms = last_ms + _DAY_MS
    assert paths(lake, 1) == []
    lake.clock.now_ms += 1001
    assert len(paths(lake, 1)) == 1


def test_numbers_and_long_ages_expire_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, shop INT) PARTITIONED BY (shop)")
    lake.append(id=[1, 2, 3], shop=[1, 42, 2020])
    assert paths(lake, 1) == []
    lake.create("CREATE TABLE old (id BIGINT, day DATE) PARTITIONED BY (day)")
    lake.append("old", id=[1], day=[date(1492, 10, 12)])
    for age_days, gone in ((1, 1), (10**5, 1), (10**6, 0), (10**12, 0)):
        retention = PartitionRetention(age_days * _DAY_MS, BY_VALUES, 100)
        assert len(expired_partitions(lake.environment, lake.target("old"), retention)) == gone
