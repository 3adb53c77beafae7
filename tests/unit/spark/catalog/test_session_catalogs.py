"""Tables as they were loaded, by name and metadata file."""

from __future__ import annotations

from pathlib import Path

from small_tables import Writer, warehouse_catalog
from sqlext.spark.catalog.session_catalogs import Catalogs, handle_of
from sqlext.storage.file_io import LocalFileIO


def test_a_version_that_was_loaded_is_found_after_newer_ones(tmp_path: Path) -> None:
    catalog = warehouse_catalog(tmp_path)
    catalogs = Catalogs(lambda name, options: catalog, LocalFileIO())
    catalogs.initialize("lake", {})
    writer = Writer(catalog)
    first = writer.create()
    parts = ("lake", *first.identifier.namespace, first.identifier.name)
    file = catalogs.load(parts).metadata_location.rpartition("/")[2]
    writer.append(1)
    newest = catalogs.load(parts)
    assert newest.metadata_location != first.metadata_location
    found = catalogs.loaded(parts, file)
    assert found is not None
    assert found.metadata == first.metadata
    assert handle_of("lake", found) == handle_of("lake", first)
    assert handle_of("lake", found).contents != handle_of("lake", newest).contents
    assert catalogs.loaded(parts, "v9.metadata.json") is None
    assert catalogs.loaded((*parts[:-1], "another"), file) is None
