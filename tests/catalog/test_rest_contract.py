"""The REST catalog, against Iceberg's own server, held to what every catalog must do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest

from catalog.contract import CatalogContract
from catalog.made_tables import DB, create
from catalog.racers import Opener
from catalog.rest_server import RestServer
from security.hostile_names import hostile_names
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.errors import AnalysisError
from sqlext.storage.location import to_local_path

NAMES = 30


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
    writes_metadata_files = False
    # Of a name that it does not have, the server looks whether it is that of a metadata table.
    has_metadata_tables = True

    @pytest.fixture
    def opener(self, server: RestServer) -> Opener:
        opener = partial(open_catalog, "lake", server.settings())
        opener().drop_namespace(DB, cascade=True)
        opener().drop_namespace(("zoo",), cascade=True)
        # what was dropped without PURGE
        shutil.rmtree(to_local_path(server.warehouse), ignore_errors=True)
        return opener

    def test_a_table_of_any_name_is_only_a_name(self, catalog: Catalog) -> None:
        """Names with signs that mean something in a URL reach the server as they are."""
        signs = set("%?#&+;=@:~*'\"<>|$ ")
        taken = []
        for name in hostile_names():
            with suppress(AnalysisError):
                taken.append(TableIdentifier(DB, name))
        chosen = [one for one in taken if signs & set(one.name)][:NAMES]
        assert len(chosen) == NAMES
        for identifier in chosen:
            create(catalog, identifier)
            assert catalog.load_table(identifier).identifier == identifier
        assert set(catalog.list_tables(DB)) == set(chosen)
        for identifier in chosen:
            assert catalog.drop_table(identifier, purge=False)
        assert catalog.list_tables(DB) == ()
