"""The REST catalog, against Iceberg's own server, held to what every catalog must do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial

import pytest

from catalog.contract import DB, CatalogContract, Opener
from catalog.rest_server import RestServer
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.storage.location import to_local_path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    server = RestServer(tmp_path_factory.mktemp("rest"))
    yield server
    server.stop()


class TestRest(CatalogContract):
    # The reference server commits the tables of one request one after the other.
    isolates_tables = False
    # where tables are is for the server to say
    keeps_locations_apart = False
    undrops = False

    @pytest.fixture
    def opener(self, server: RestServer) -> Opener:
        opener = partial(open_catalog, "lake", server.settings())
        opener().drop_namespace(DB, cascade=True)
        opener().drop_namespace(("zoo",), cascade=True)
        # what was dropped without PURGE
        shutil.rmtree(to_local_path(server.warehouse), ignore_errors=True)
        return opener
