"""The model server that simulations use, held to the contract that Iceberg's own server is held to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from catalog.contract import CatalogContract
from catalog.racers import Opener
from catalog.rest_model_server import RestModelServer
from sqlext.catalog.catalog_settings import open_catalog


class TestRestModel(CatalogContract):
    keeps_locations_apart = False
    undrops = False
    writes_metadata_files = False

    @pytest.fixture
    def opener(self, tmp_path: Path) -> Iterator[Opener]:
        server = RestModelServer(tmp_path)
        yield partial(open_catalog, "lake", server.settings())
        server.stop()
