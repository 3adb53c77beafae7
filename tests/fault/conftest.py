"""A database server for the tests that kill processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from catalog.postgres_server import PostgresServer


@pytest.fixture(scope="package")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    yield server
    server.stop()
