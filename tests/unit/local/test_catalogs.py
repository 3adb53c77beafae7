"""One history without Spark on catalogs of folders, databases, servers and object stores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sqlext.local
from catalog.rest_model_server import RestModelServer
from catalog.s3_server import S3Server
from sqlext.local import LocalCatalog, LocalTable
from unit.local.local_lake import created, refused, rows_of

Opener = Callable[[], LocalCatalog | LocalTable]


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture
def rest(tmp_path: Path) -> Iterator[RestModelServer]:
    server = RestModelServer(tmp_path)
    yield server
    server.stop()


@pytest.fixture(params=["folder", "database", "options", "server", "store", "group commit"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    database = {"type": "sql", "uri": f"sqlite:{tmp_path}/c.db", "warehouse": f"{tmp_path}/w"}
    match request.param:
        case "folder":
            return lambda: sqlext.local.open(tmp_path / "w")
        case "database":
            return lambda: sqlext.local.open(f"sqlite:{tmp_path}/c.db", {"warehouse": f"{tmp_path}/w"}, name="lake")
        case "options":
            return lambda: sqlext.local.open(database)
        case "server":
            settings = request.getfixturevalue("rest").settings()
            return lambda: sqlext.local.open(settings["uri"])
        case "group commit":
            return lambda: sqlext.local.open(tmp_path / "w", {"group-commit": "process"})
    s3 = request.getfixturevalue("s3")
    bucket = s3.new_bucket()
    return lambda: sqlext.local.open(f"s3://{bucket}/w", s3.settings())


def _opened(opener: Opener) -> LocalCatalog:
    found = opener()
    assert isinstance(found, LocalCatalog)
    return found


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_history(opener: Opener, version: str) -> None:
    lake = _opened(opener)
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
    assert rows_of(table) == expected == rows_of(_opened(opener).table("db.t"))
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


def test_writers_at_once(opener: Opener) -> None:
    lake = _opened(opener)
    lake.create_namespace("db")
    created(lake, "id BIGINT, writer INT, PRIMARY KEY (id)")
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            table = _opened(opener).table("db.t")
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
