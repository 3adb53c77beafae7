"""Rows that a DELETE or UPDATE names by their keys: what the driver changes itself, and what it leaves to Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sqlext.command.change.named_rows import NamedRows, are_found, change_named_rows, named_rows
from sqlext.command.outcome import Counts
from sqlext.errors import ValidationConflict
from unit.command.lake import Lake, read

TABLE = "CREATE TABLE t (id BIGINT, part STRING, v STRING, n INT NOT NULL, PRIMARY KEY (id, part)) {}"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _filled(lake: Lake, clauses: str = "") -> Lake:
    lake.create(TABLE.format(clauses))
    for part in ("a", "b"):
        lake.append(id=range(5), part=[part] * 5, v=[f"{part}{id}" for id in range(5)], n=range(5))
    return lake


def _named(lake: Lake, text: str, *, case_sensitive: bool = False) -> NamedRows | None:
    return named_rows(lake.environment, lake.target(), read(text), case_sensitive=case_sensitive)


def _run(lake: Lake, text: str) -> Counts:
    named = _named(lake, text)
    assert named is not None, text
    assert are_found(lake.environment, lake.target(), named)
    return change_named_rows(lake.environment, lake.target(), named, "serializable")


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("id = 3 AND part = 'a'", [(3, "a")]),
        ("part = 'a' AND id = 3", [(3, "a")]),
        ("t.PART = 'a' AND db.t.Id = 3", [(3, "a")]),
        ("id = 3 AND part = 'none'", [(3, "none")]),
    ],
)
def test_keys_are_told_by_the_condition(lake: Lake, where: str, keys: list[tuple[Any, ...]]) -> None:
    named = _named(_filled(lake), f"DELETE FROM t WHERE {where}")
    assert named is not None
    assert [tuple(row.values()) for row in named.keys.to_pylist()] == keys


@pytest.mark.parametrize(
    "where",
    [
        "id = 3",
        "id = 3 AND part = 'a' AND v = 'a3'",
        "id = 3 AND id = 3",
        "id = 3 AND part = NULL",
        "id = '3' AND part = 'a'",
        "id = 3.0 AND part = 'a'",
        "id = 3 AND part = 5",
        "id = 3 AND nope = 'a'",
        "x.id = 3 AND part = 'a'",
        "id = 9999999999999999999 AND part = 'a'",
        "id = 3 AND part = 'a' OR TRUE",
    ],
)
def test_what_spark_would_convert_or_refuse_is_left_to_it(lake: Lake, where: str) -> None:
    assert _named(_filled(lake), f"DELETE FROM t WHERE {where}") is None


def test_names_are_told_apart_as_the_session_says(lake: Lake) -> None:
    _filled(lake)
    assert _named(lake, "DELETE FROM t WHERE ID = 3 AND part = 'a'", case_sensitive=True) is None
    assert _named(lake, "DELETE FROM t AS x WHERE x.id = 3 AND x.part = 'a'", case_sensitive=True) is not None
    assert _named(lake, "DELETE FROM t AS x WHERE t.id = 3 AND x.part = 'a'") is None


def test_a_list_names_each_key_once(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, v STRING, PRIMARY KEY (id))")
    lake.append(id=range(5), v=list("abcde"))
    named = _named(lake, "DELETE FROM t WHERE id IN (3, 1, 3, 70)")
    assert named is not None
    assert named.keys.to_pylist() == [{"id": 3}, {"id": 1}, {"id": 70}]
    assert _named(lake, "DELETE FROM t WHERE id IN (3, 2147483648)") is None
    assert _run(lake, "DELETE FROM t WHERE id IN (3, 1, 3, 70)") == Counts(deleted=2)
    assert lake.rows() == [(0, "a"), (2, "c"), (4, "e")]


@pytest.mark.parametrize(
    "assignments",
    [
        "v = upper(v)",
        "v = n",
        "v = DEFAULT",
        "n = NULL",
        "n = '7'",
        "n = 2147483648",
        "id = 7",
        "part = 'b'",
        "v = 'x', n = n + 1",
    ],
)
def test_values_that_are_no_literals_of_the_column_are_sparks(lake: Lake, assignments: str) -> None:
    assert _named(_filled(lake), f"UPDATE t SET {assignments} WHERE id = 3 AND part = 'a'") is None


def test_a_table_with_rules_for_its_rows_is_updated_by_spark(lake: Lake) -> None:
    lake.create(TABLE.format("TBLPROPERTIES ('sqlext.check.c'='n > 0')"))
    assert _named(lake, "DELETE FROM t WHERE id = 3 AND part = 'a'") is not None
    assert _named(lake, "UPDATE t SET n = 1 WHERE id = 3 AND part = 'a'") is None


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("clauses", ["", "PARTITIONED BY (part)"])
def test_rows_are_replaced_and_keep_their_other_columns(lake: Lake, version: int, clauses: str) -> None:
    _filled(lake, f"{clauses} TBLPROPERTIES ('format-version'='{version}')")
    assert _run(lake, "UPDATE t SET v = 'new', n = 70 WHERE id = 3 AND part = 'b'") == Counts(updated=1)
    assert _run(lake, "UPDATE t SET v = NULL WHERE id = 4 AND part = 'b'") == Counts(updated=1)
    assert _run(lake, "UPDATE t SET v = 'again' WHERE id = 3 AND part = 'b'") == Counts(updated=1)
    assert _run(lake, "UPDATE t SET v = 'nobody' WHERE id = 30 AND part = 'b'") == Counts()
    assert _run(lake, "DELETE FROM t WHERE id = 0 AND part = 'a'") == Counts(deleted=1)
    rows = lake.rows()
    assert (3, "b", "again", 70) in rows
    assert (4, "b", None, 4) in rows
    assert len(rows) == 9
    assert len(lake.load().metadata.snapshots) == 6


def test_a_row_that_another_commit_changed_is_a_conflict(lake: Lake) -> None:
    _filled(lake, "TBLPROPERTIES ('write.conflict.max-reruns'='0')")
    before, text = lake.target(), "UPDATE t SET v = 'ours' WHERE id = 3 AND part = 'a'"
    named = _named(lake, text)
    assert named is not None
    _run(lake, "UPDATE t SET v = 'others' WHERE id = 3 AND part = 'a'")
    with pytest.raises(ValidationConflict) as refusal:
        change_named_rows(lake.environment, before, named, "serializable")
    assert refusal.value.condition == "WRITE_CONFLICT"
    assert (3, "a", "others", 3) in lake.rows()


def test_a_row_of_the_key_that_another_commit_added_is_a_conflict(lake: Lake) -> None:
    _filled(lake, "TBLPROPERTIES ('write.conflict.max-reruns'='0')")
    before = lake.target()
    named = _named(lake, "DELETE FROM t WHERE id = 3 AND part = 'a'")
    assert named is not None
    lake.append(id=[3], part=["a"], v=["second"], n=[1])
    with pytest.raises(ValidationConflict) as refusal:
        change_named_rows(lake.environment, before, named, "serializable")
    assert refusal.value.condition == "CONCURRENT_CHANGE"
    assert change_named_rows(lake.environment, before, named, "snapshot") == Counts(deleted=1)
    assert [row for row in lake.rows() if row[:2] == (3, "a")] == [(3, "a", "second", 1)]


def test_a_query_reads_what_the_driver_may_not(lake: Lake) -> None:
    _filled(lake)
    named = _named(lake, "DELETE FROM t WHERE id = 3 AND part = 'a'")
    assert named is not None
    planning = lake.environment.planning
    without = replace(planning, thresholds=replace(planning.thresholds, looked_up_rows=0))
    assert not are_found(replace(lake.environment, planning=without), lake.target(), named)
