"""Tables that no catalog knows, by their folder or their metadata file."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from small_tables import (
    Writer,
)
from sqlext.catalog.static_table import load_static_table
from sqlext.errors import (
    NotFoundError,
)
from sqlext.storage.file_io import LocalFileIO


def test_a_table_is_loaded_by_its_folder_or_its_file(writer: Writer, tmp_path: Path) -> None:
    io = LocalFileIO()
    first = writer.create()
    second = writer.append(1, base=first).table
    folder = str(tmp_path / "db/orders")
    assert load_static_table(folder, io).metadata == second.metadata
    assert load_static_table(folder + "/", io).metadata_location == second.metadata_location
    assert load_static_table(first.metadata_location, io).metadata == first.metadata
    assert load_static_table(folder, io).identifier.name == "orders"


def test_a_folder_of_another_catalog_is_loaded_by_its_highest_number(writer: Writer, metadata_folder: Path) -> None:
    writer.append(1, base=writer.create())
    for number in (1, 2):
        source = metadata_folder / f"v{number}.metadata.json"
        source.rename(metadata_folder / f"{number:05}-{uuid.uuid4()}.metadata.json")
    (metadata_folder / "version-hint.text").unlink()
    loaded = load_static_table(str(metadata_folder.parent), LocalFileIO())
    assert len(loaded.metadata.snapshots) == 1


def test_a_folder_without_a_table_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", tmp_path / "v1.metadata.json"):
        with pytest.raises(NotFoundError) as raised:
            load_static_table(str(path), LocalFileIO())
        assert raised.value.condition == "NO_TABLE_AT_LOCATION"
