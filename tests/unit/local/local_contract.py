"""What `sqlext.local` does in every catalog, without Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from sqlext.local import LocalCatalog, LocalTable
from unit.local.local_lake import created, refused, rows_of

Opener = Callable[[], LocalCatalog | LocalTable]


def opened(opener: Opener) -> LocalCatalog:
    found = opener()
    assert isinstance(found, LocalCatalog)
    return found


class LocalContract:
    """Subclasses have a fixture `opener`, of an empty catalog."""

    @pytest.mark.parametrize("version", ["2", "3"])
    def test_a_history(self, opener: Opener, version: str) -> None:
        lake = opened(opener)
        lake.create_namespace("db")
        table = created(
            lake,
            "id BIGINT, region STRING, n INT, PRIMARY KEY (id)",
            {"format-version": version},
            "PARTITIONED BY (region)",
        )
        table.append([{"id": id, "region": "eu" if id % 2 else "us", "n": id} for id in range(6)])
        counts = table.upsert([{"id": 1, "region": "us", "n": 10}, {"id": 9, "region": "eu", "n": 9}])
        assert (counts.inserted, counts.updated) == (1, 1)
        assert table.delete(where="region = 'us' AND n < 3") == 2
        assert table.delete([{"id": 5}, {"id": 77}]) == 1
        expected = [(1, "us", 10), (3, "eu", 3), (4, "us", 4), (9, "eu", 9)]
        assert rows_of(table) == expected == rows_of(opened(opener).table("db.t"))
        assert rows_of(table, where="n > 3 AND region = 'us'") == [(1, "us", 10), (4, "us", 4)]
        changes = table.changes().to_pylist()
        folded: dict[int, tuple[object, ...]] = {}
        for row in changes:
            if row["_change_type"] in ("INSERT", "UPDATE_AFTER"):
                folded[row["id"]] = (row["id"], row["region"], row["n"])
            elif row["_change_type"] == "DELETE":
                del folded[row["id"]]
        assert sorted(folded.values()) == expected
        with refused("TABLE_OR_VIEW_ALREADY_EXISTS"):
            created(lake, "id INT")
        assert lake.tables("db") == ["db.t"]

    def test_writers_at_once(self, opener: Opener) -> None:
        lake = opened(opener)
        lake.create_namespace("db")
        created(lake, "id BIGINT, writer INT, PRIMARY KEY (id)")
        failures: list[BaseException] = []

        def write(writer: int) -> None:
            try:
                table = opened(opener).table("db.t")
                for number in range(4):
                    table.append([{"id": 10 * writer + number, "writer": 0}])
                    table.upsert([{"id": 10 * writer + number, "writer": writer}])
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in (1, 2)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert not failures
        assert rows_of(lake.table("db.t")) == [(10 * writer + n, writer) for writer in (1, 2) for n in range(4)]
