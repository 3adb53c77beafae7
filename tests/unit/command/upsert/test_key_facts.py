"""What a table says of an upsert: whether deletes by key reach all rows, and whether the driver can look keys up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.command.plan.facts import KeyFacts, Mode, SourceSize
from sqlext.command.plan.planning import Planning
from sqlext.command.upsert.key_facts import key_facts_of
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, DropField, FieldTerm
from sqlext.spec.transform import BucketTransform, IdentityTransform
from unit.command.lake import Lake

UP = IdentityTransform()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _facts(lake: Lake, **settings: str) -> KeyFacts:
    planning = Planning.of({f"sqlext.plan.{name.replace('_', '-')}": value for name, value in settings.items()})
    environment = replace(lake.environment, planning=planning)
    found = key_facts_of(environment, lake.target(), lambda: SourceSize(7), in_order=True)
    assert found.mode.name == "write.merge.mode"
    assert found.key is not None
    return found.key


@pytest.mark.parametrize(
    ("properties", "mode", "compares"),
    [
        ("'comment'=''", Mode("write.upsert.mode", "resolved", False), False),
        ("'write.upsert.mode'='equality'", Mode("write.upsert.mode", "equality", True), False),
        ("'sequence.field'='s'", Mode("write.upsert.mode", "resolved", False), True),
        # Equality deletes do not know the order; that of commits decides.
        ("'sequence.field'='s', 'write.upsert.mode'='equality'", Mode("write.upsert.mode", "equality", True), False),
    ],
)
def test_the_mode_and_the_order_of_rows(lake: Lake, properties: str, mode: Mode, compares: bool) -> None:
    lake.create(f"CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ({properties})")
    facts = _facts(lake)
    assert (facts.upsert_mode, facts.compares_stored, facts.in_order, facts.is_given) == (mode, compares, True, False)
    assert facts.size() == SourceSize(7)


def test_deletes_of_the_partitioning_do_not_reach_files_of_an_earlier_one(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, PRIMARY KEY (id))")
    lake.append(id=[1])
    assert _facts(lake).deletes_apply_to_all()
    lake.commit(ChangeSpec((AddField(FieldTerm(("id",), BucketTransform(4))),)))
    assert not _facts(lake).deletes_apply_to_all(), "a partitioned delete file is for its own partition"
    lake.commit(ChangeSpec((DropField(FieldTerm(("id",), BucketTransform(4))),)))
    assert _facts(lake).deletes_apply_to_all(), "one without a partition is for all"


def test_a_partitioning_without_files_is_no_obstacle(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, PRIMARY KEY (id))")
    lake.commit(ChangeSpec((AddField(FieldTerm(("id",), UP)),)))
    lake.append(id=[1])
    assert _facts(lake).deletes_apply_to_all()


def test_a_key_that_does_not_tell_the_partition(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, p STRING, PRIMARY KEY (id)) PARTITIONED BY (p)")
    assert not _facts(lake).deletes_apply_to_all()
    lake.create("CREATE TABLE u (id INT, p STRING, PRIMARY KEY (id, p)) PARTITIONED BY (p)")
    found = key_facts_of(lake.environment, lake.target("u"), lambda: SourceSize(0))
    assert found.key is not None
    assert found.key.deletes_apply_to_all()


def test_keys_that_the_driver_looks_up(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id))")
    assert _facts(lake).keys_fit()
    lake.append(id=list(range(1000)), s=["x"] * 1000)
    assert _facts(lake).keys_fit()
    assert not _facts(lake, looked_up_key_bytes="100").keys_fit()
    assert not _facts(lake, planned_files="0").keys_fit()
    lake.upsert(id=[1], s=["y"])
    assert not _facts(lake).keys_fit(), "only a join tells which rows are live"


@pytest.mark.parametrize(
    "columns", ["id UUID, PRIMARY KEY (id)", "id INT, v VARIANT, PRIMARY KEY (id)"], ids=["uuid", "variant"]
)
def test_keys_and_rows_that_the_driver_cannot_read(lake: Lake, columns: str) -> None:
    lake.create(f"CREATE TABLE t ({columns}) TBLPROPERTIES ('format-version'='3')")
    assert not _facts(lake).keys_fit()
