"""A database server for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from catalog.postgres_server import PostgresServer


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    yield server
    server.stop()
