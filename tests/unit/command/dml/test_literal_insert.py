"""INSERT of literals: which statements are one, and its rows in the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.dml.literal_insert import append_literals, literal_rows
from unit.command.lake import Lake, read, refused, rows_for


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT OVERWRITE t VALUES (1, 'a')",
        "INSERT INTO t BY NAME SELECT 1 AS id, 'a' AS p",
        "INSERT INTO t PARTITION (p = 'a') VALUES (1)",
        "INSERT INTO t VALUES (1, 'a') ON CONFLICT DO NOTHING",
        "INSERT INTO t (id) VALUES (1)",
    ],
)
def test_statements_that_say_more_than_their_rows(lake: Lake, text: str) -> None:
    """They are seen before the session is asked for its way to assign values."""
    lake.create("CREATE TABLE t (id INT, p STRING, PRIMARY KEY (id)) PARTITIONED BY (p)")
    statement = read(text)
    assert literal_rows(None, statement, statement.source.text, lake.target()) is None


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rows_are_appended_by_partition(lake: Lake, version: int) -> None:
    lake.create(f"CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('format-version'='{version}')")
    target = lake.target()
    rows = rows_for(target, id=[1, 2, 3], p=["a", None, "a"])
    assert append_literals(lake.environment, None, target, rows) == 3
    assert sorted(lake.rows(), key=str) == [(1, "a"), (2, None), (3, "a")]
    assert {file.partition: file.record_count for file in lake.files()} == {("a",): 2, (None,): 1}


def test_no_rows_make_no_snapshot(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT)")
    target = lake.target()
    assert append_literals(lake.environment, None, target, rows_for(target, id=[])) == 0
    assert lake.load().metadata.current_snapshot_id is None


def test_an_enforced_key_is_held(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, PRIMARY KEY (id) ENFORCED)")
    lake.append(id=[1, 2])
    with refused("KEY_ALREADY_EXISTS", '{"id": 2}'):
        lake.append(id=[3, 2])
    with refused("DUPLICATE_KEY", '{"id": 3}'):
        lake.append(id=[3, 3])
    assert lake.rows() == [(1,), (2,)]


def test_another_commit_that_adds_the_key_meanwhile_is_a_conflict(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, PRIMARY KEY (id) ENFORCED)")
    lake.append(id=[1])
    early, other = lake.target(), lake.target()
    lake.append(id=[5])
    append_literals(lake.environment, None, other, rows_for(other, id=[9]))
    with refused("WRITE_CONFLICT"):
        append_literals(lake.environment, None, early, rows_for(early, id=[5]))
    assert lake.rows() == [(1,), (5,), (9,)]
