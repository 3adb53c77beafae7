"""Metadata files of a table that is copied elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.catalog.clone_tag import clone_properties, clone_tag
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.spec.manifests.path_prefix import PathPrefix
from sqlext.spec.metadata.moved_metadata import moved_metadata
from sqlext.spec.metadata.table_metadata import decode_table_metadata
from unit.command.lake import Lake


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_copy_is_no_clone_and_keeps_nothing_for_one(tmp_path: Path, codec: str) -> None:
    """It has the uuid of the table, and its DROP would release the tag of the table that was copied."""
    lake = Lake(tmp_path)
    lake.create(f"CREATE TABLE t (id INT) TBLPROPERTIES ('write.metadata.compression-codec'='{codec}')")
    table = lake.append(id=[1])
    source, uuid = TableIdentifier(("db",), "s"), table.metadata.table_uuid
    lake.commit(ChangeProperties({**clone_properties(source, uuid), "a.b": "1"}))
    lake.commit(CreateReference("v1", "tag"))
    table = lake.commit(CreateReference(clone_tag("a8a1b1f0-0000-4000-8000-000000000000"), "tag"))
    prefix = PathPrefix(table.metadata.location, "file:///elsewhere")
    moved = moved_metadata(lake.catalog.io.read(table.metadata_location), prefix)
    copied = decode_table_metadata(moved, "file:///elsewhere/metadata/v1.metadata.json")
    assert sorted(copied.refs) == ["main", "v1"]
    assert copied.properties["a.b"] == "1"
    assert not [name for name in copied.properties if name.startswith("sqlext.clone")]
    assert copied.snapshots[0].manifest_list.startswith("file:///elsewhere/")
