"""The SQL catalog, on an SQLite file and on a PostgreSQL server, held to what every catalog must do."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from catalog.contract import CatalogContract
from catalog.postgres_server import PostgresServer
from catalog.racers import Opener
from sqlext.catalog.catalog_settings import open_catalog


class TestSqlite(CatalogContract):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        options = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db", "warehouse": str(tmp_path / "w")}
        return partial(open_catalog, "lake", options)


class TestPostgres(CatalogContract):
    @pytest.fixture
    def opener(self, tmp_path: Path, postgres: PostgresServer) -> Opener:
        options = {"type": "jdbc", "warehouse": str(tmp_path / "w"), **postgres.new_database()}
        return partial(open_catalog, "lake", options)
