"""A warehouse folder with one writer, and where its table keeps its metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import Writer, warehouse_catalog


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


@pytest.fixture
def metadata_folder(tmp_path: Path) -> Path:
    return tmp_path / "db/orders/metadata"
