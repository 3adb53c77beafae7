"""`sqlext.local` on servers: PostgreSQL, and Iceberg's own REST catalog server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlext.local
from catalog.postgres_server import PostgresServer
from catalog.rest_server import RestServer
from unit.local.local_contract import LocalContract, Opener


class TestPostgres(LocalContract):
    @pytest.fixture
    def opener(self, tmp_path: Path, postgres: PostgresServer) -> Opener:
        options = {"type": "sql", "warehouse": str(tmp_path / "w"), **postgres.new_database()}
        return lambda: sqlext.local.open(options)


class TestRest(LocalContract):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Iterator[Opener]:
        server = RestServer(tmp_path)
        yield lambda: sqlext.local.open(server.uri)
        server.stop()
