"""Two writes of one key by different writers: the one that commits second runs again, on what the first has written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import sqlext.local
from sqlext.errors import ValidationConflict
from sqlext.local import LocalCatalog, LocalTable
from sqlext.testing import Faults
from unit.local.local_lake import created, open_lake, rows_of

_COLUMNS = "id INT, n INT, PRIMARY KEY (id)"
_TABLES: Mapping[str, Mapping[str, str]] = {
    "vectors": {"format-version": "3"},
    "position deletes": {"format-version": "2"},
    "copies": {"write.merge.mode": "copy-on-write", "write.delete.mode": "copy-on-write"},
    "equality deletes": {"write.upsert.mode": "equality"},
    "an order": {"write.upsert.sequence-field": "n"},
    "a merge engine": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
}
_CHANGES: Mapping[str, Callable[[LocalTable], object]] = {
    "replaces": lambda table: table.upsert([{"id": 3, "n": 50}, {"id": 21, "n": 50}]),
    "deletes": lambda table: table.delete([{"id": 3}]),
    "deletes by kind": lambda table: table.upsert([{"id": 3, "n": 50, "_row_kind": "-D"}]),
}


def _filled(folder: Path, properties: Mapping[str, str]) -> LocalTable:
    """Ten rows in one file, of which no change of a key or two removes the last row."""
    table = created(open_lake(folder), _COLUMNS, properties)
    table.append([{"id": id, "n": id} for id in range(10)])
    return table


@pytest.mark.parametrize("other", ["replaces", "deletes"])
@pytest.mark.parametrize("change", _CHANGES)
@pytest.mark.parametrize("kind", _TABLES)
def test_the_rows_are_those_of_one_after_the_other(tmp_path: Path, kind: str, change: str, other: str) -> None:
    def others(table: LocalTable) -> object:
        if other == "deletes":
            return table.delete([{"id": 3}])
        return table.upsert([{"id": 3, "n": 70}, {"id": 21, "n": 7}])

    raced, in_turn = (_filled(tmp_path / name, _TABLES[kind]) for name in ("raced", "in turn"))
    with Faults(raced).lose_next_commit(by=others):
        _CHANGES[change](raced)
    others(in_turn)
    _CHANGES[change](in_turn)
    assert rows_of(raced) == rows_of(in_turn)


@pytest.mark.parametrize("change", ["replaces", "deletes"])
def test_without_reruns_it_is_a_conflict(tmp_path: Path, change: str) -> None:
    table = _filled(tmp_path, {"write.conflict.max-reruns": "0"})
    fault = Faults(table).lose_next_commit(by=lambda same: same.upsert([{"id": 3, "n": 70}]))
    with fault, pytest.raises(ValidationConflict, match=r'WRITE_CONFLICT.*"id": 3'):
        _CHANGES[change](table)
    assert (3, 70) in rows_of(table)


_WRITER = """
import json, sys
import sqlext.local

writer, where, options = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
table = sqlext.local.open(where, options).table("db.t")
for number in range(6):
    table.upsert([{"id": id, "n": 100 * writer + number} for id in (*range(3), 100 * writer + number)])
"""


@pytest.mark.parametrize("place", ["a folder", "a database"])
def test_processes_that_write_the_same_keys_all_land(tmp_path: Path, place: str) -> None:
    """Each has the number of reruns that a table has by default."""
    warehouse = str(tmp_path / "warehouse")
    where = warehouse if place == "a folder" else f"sqlite:///{tmp_path}/catalog.db"
    options = {"care": "none"} if place == "a folder" else {"care": "none", "warehouse": warehouse}
    lake = sqlext.local.open(where, options)
    assert isinstance(lake, LocalCatalog)
    lake.create_namespace("db")
    table = created(lake, _COLUMNS)
    table.append([{"id": id, "n": id} for id in range(10)])
    script = [sys.executable, "-c", _WRITER]
    writers = [subprocess.Popen([*script, str(one), where, json.dumps(options)]) for one in (1, 2, 3)]
    assert [one.wait() for one in writers] == [0, 0, 0]
    rows = dict(rows_of(table))
    own = {100 * writer + number for writer in (1, 2, 3) for number in range(6)}
    assert {id: n for id, n in rows.items() if id > 2} == {**{id: id for id in range(3, 10)}, **{id: id for id in own}}
    assert (rows[0], rows[0]) == (rows[1], rows[2])
    assert rows[0] in (105, 205, 305)
