"""The warehouse folder, held to what every catalog must do."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from catalog.contract import CatalogContract, Opener
from small_tables import warehouse_catalog


class TestWarehouse(CatalogContract):
    keeps_namespace_properties = False
    renames = False

    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        return partial(warehouse_catalog, tmp_path)
