"""One history without Spark on catalogs of folders, databases, servers and object stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlext.local
from catalog.rest_model_server import RestModelServer
from catalog.s3_server import S3Server
from unit.local.local_contract import LocalContract, Opener


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


class TestCatalogs(LocalContract):
    @pytest.fixture(params=["folder", "database", "options", "server", "store", "group commit"])
    def opener(self, request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
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
