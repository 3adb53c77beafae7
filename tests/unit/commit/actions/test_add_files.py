"""Files of others: taken in once, never deleted, and with the name mapping that they were matched by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from small_tables import Writer, warehouse_catalog
from sqlext.commit.actions.add_files import AddFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.schema_change import ChangeSchema
from sqlext.errors import SqlextError
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.name_mapping import NAME_MAPPING_PROPERTY
from sqlext.spec.schema_change import RenameColumn

MAPPING = '[{"field-id":1,"names":["id"]}]'


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path / "warehouse"))


def foreign(folder: Path, name: str = "a") -> ContentFile:
    path = folder / f"{name}.parquet"
    path.write_bytes(b"not looked at")
    return ContentFile(Content.DATA, f"file:{path}", "PARQUET", 0, (), 1, 13)


def test_the_mapping_comes_with_the_files(writer: Writer, tmp_path: Path) -> None:
    base = writer.create()
    outcome = writer.commit(AddFiles([foreign(tmp_path)], 0, MAPPING), base=base)
    metadata = outcome.table.metadata
    assert metadata.properties[NAME_MAPPING_PROPERTY] == MAPPING
    assert outcome.snapshot is not None
    assert outcome.snapshot.summary["added-data-files"] == "1"
    assert len(metadata.metadata_log) == 1


def test_a_file_is_taken_in_once(writer: Writer, tmp_path: Path) -> None:
    """However its location is spelt, and also when another commit was first."""
    base = writer.create()
    file = foreign(tmp_path)
    writer.commit(AddFiles([file], 0, MAPPING), base=base)
    again = replace(file, file_path=f"file://{tmp_path}/./a.parquet")
    for files in ([foreign(tmp_path, "b"), again], [foreign(tmp_path, "c")] * 2):
        with pytest.raises(SqlextError, match="FILES_ALREADY_IN_TABLE"):
            writer.commit(AddFiles(files, 0, MAPPING), base=base)
    assert sorted(path.name for path in tmp_path.glob("*.parquet")) == ["a.parquet", "b.parquet", "c.parquet"]
    outcome = writer.commit(AddFiles([again], 0, MAPPING, check_duplicates=False), base=base)
    assert outcome.attempts == 2


def test_a_change_of_what_files_were_matched_by_is_a_conflict(writer: Writer, tmp_path: Path) -> None:
    base = writer.create()
    renamed = writer.commit(ChangeSchema((RenameColumn(("region",), "area"),)), base=base).table
    with pytest.raises(SqlextError, match=r"CONCURRENT_CHANGE.*columns"):
        writer.commit(AddFiles([foreign(tmp_path)], 0, MAPPING), base=base)
    writer.commit(ChangeProperties({NAME_MAPPING_PROPERTY: "[]"}), base=renamed)
    with pytest.raises(SqlextError, match=r"CONCURRENT_CHANGE.*columns"):
        writer.commit(AddFiles([foreign(tmp_path)], renamed.metadata.current_schema_id, MAPPING), base=renamed)
    assert (tmp_path / "a.parquet").exists()
