"""The warehouse folder, on this machine and in S3, held to what every catalog must do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from catalog.contract import CatalogContract
from catalog.racers import Opener
from catalog.s3_server import S3Server
from small_tables import warehouse_catalog
from sqlext.catalog.catalog_settings import open_catalog


class TestWarehouse(CatalogContract):
    keeps_namespace_properties = False
    renames = False

    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        return partial(open_catalog, "lake", {"warehouse": str(tmp_path), "undrop-retention": "1d"})


class TestWarehouseThatKeepsNothing(TestWarehouse):
    undrops = False

    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        return partial(warehouse_catalog, tmp_path)

    # the same in both
    test_every_acknowledged_commit_of_racing_processes_counts = None
    test_of_racing_creations_one_lands = None


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


class TestWarehouseInS3(CatalogContract):
    keeps_namespace_properties = False
    renames = False
    undrops = False

    @pytest.fixture
    def opener(self, s3: S3Server) -> Opener:
        return partial(open_catalog, "lake", {"warehouse": f"s3://{s3.new_bucket()}/w", **s3.settings()})
