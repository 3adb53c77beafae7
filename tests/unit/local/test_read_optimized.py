"""`t.ro`: the data files to which no delete applies, of any version, whatever the filter."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from unit.local.local_lake import created, open_lake, refused, rows_of

_KEYED = "id BIGINT, part STRING, v BIGINT, PRIMARY KEY (id, part)"


@pytest.mark.parametrize("mode", ["resolved", "equality"])
@pytest.mark.parametrize("version", ["2", "3"])
def test_its_rows_are_the_newest_of_their_keys(tmp_path: Path, mode: str, version: str) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng, lake = random.Random(seed), open_lake(tmp_path)
    properties = {"format-version": version, "write.upsert.mode": mode}
    table = created(lake, _KEYED, properties, "PARTITIONED BY (part)")
    view = lake.table("db.t.ro")
    assert rows_of(view) == []
    for step in range(12):
        keys = rng.sample(range(30), rng.randrange(1, 8))
        if rng.random() < 0.3:
            table.delete(where=f"id IN ({', '.join(map(str, keys))})")
        else:
            table.upsert([{"id": key, "part": "ab"[key % 2], "v": step} for key in keys])
        stored, seen = rows_of(table), rows_of(view)
        assert {*seen} <= {*stored}
        assert len({row[:2] for row in seen}) == len(seen)
        # No later statement can have deleted rows of the newest files.
        assert [row for row in seen if row[2] == step] == [row for row in stored if row[2] == step]
        for key in rng.sample(range(30), 5):
            assert rows_of(view, where=f"id = {key}") == [row for row in seen if row[0] == key]


def test_it_has_branches_and_versions_and_is_only_read(tmp_path: Path) -> None:
    lake = open_lake(tmp_path)
    table = created(lake, _KEYED, {"format-version": "2"})
    table.append([{"id": 1, "part": "a", "v": 1}, {"id": 2, "part": "a", "v": 2}])
    first = table.metadata("snapshots").column("snapshot_id")[0].as_py()
    table.delete(where="id = 1")
    view = lake.table("db.t.ro")
    assert rows_of(view) == []
    assert len(rows_of(view, snapshot=first)) == 2
    with refused("PLACE_READ_ONLY", "db.t.ro"):
        view.append([{"id": 3, "part": "a", "v": 3}])
    with refused("CHANGES_OF_NO_TABLE"):
        view.changes()
