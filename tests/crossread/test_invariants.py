"""The checks of the format's rules find what breaks them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crossread.invariants import violations
from small_tables import Writer, data_file, position_deletes, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.spec.content_file import ContentFile
from sqlext.spec.single_value import encode
from sqlext.spec.types import LongType
from sqlext.storage.location import to_local_path
from sqlext.transaction.append import AppendFiles
from sqlext.transaction.row_delta import RowDelta


def found(table: LoadedTable) -> str:
    return "\n".join(violations(to_local_path(table.metadata_location)))


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path / "warehouse"))


def append(writer: Writer, file: ContentFile) -> LoadedTable:
    return writer.commit(AppendFiles((file,)), base=writer.load()).table


def test_a_sound_table(writer: Writer) -> None:
    writer.create()
    file = data_file(writer.load().metadata, [1, 2, 3])
    append(writer, file)
    deletes = position_deletes(writer.load().metadata, file, [0])
    table = writer.commit(RowDelta((), (deletes,)), base=writer.load()).table
    assert found(table) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lower_bounds": {1: encode(LongType(), 2)}}, "the lower bound of id"),
        ({"upper_bounds": {1: encode(LongType(), 2)}}, "the upper bound of id"),
        ({"null_value_counts": {1: 1}}, "null_value_counts of id is 1"),
        ({"record_count": 4}, "3 rows where 4 are recorded"),
        ({"file_size_in_bytes": 4}, "its size is not 4"),
        ({"file_path": "file:///gone.parquet"}, "there is no such file"),
    ],
)
def test_a_wrong_entry(writer: Writer, change: dict[str, object], said: str) -> None:
    writer.create()
    file = data_file(writer.load().metadata, [1, 2, 3])
    assert said in found(append(writer, replace(file, **change)))  # type: ignore[arg-type]


def test_a_wrong_total_and_a_file_twice(writer: Writer) -> None:
    writer.create()
    file = data_file(writer.load().metadata, [1])
    append(writer, file)
    table = append(writer, file)
    assert "is in the snapshot 2 times" in found(table)
    metadata = Path(to_local_path(table.metadata_location))
    metadata.write_text(metadata.read_text().replace('"total-records":"2"', '"total-records":"7"'))
    assert "total-records is 7, and should be 2" in found(table)
