"""Tables of Iceberg's and Flink's writers, whose metadata is gone: what manifests tell, and what data files do."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from golden_tables.relocation import unpack
from sqlext.command.doctor.found_files import found_files
from sqlext.command.doctor.table_from_manifests import version_from_manifests
from sqlext.scan.checks.finding import Severity
from sqlext.scan.checks.table_checks import check_table
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import LocalFileIO

GOLDEN = Path(__file__).parents[3] / "golden_tables"
TABLES = (*(f"d{number:02}" for number in range(1, 14)), *(f"f{number:02}" for number in range(1, 9)))
IO = LocalFileIO()


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("golden")
    sets = [unpack(GOLDEN / f"{name}.zip", root / name) for name in ("golden_dev", "golden_flink_dev")]
    return {folder.name[:3]: folder for one in sets for folder in one.iterdir() if folder.is_dir()}


def metadata_of(folder: Path) -> TableMetadata:
    location = json.loads((folder / "expected.json").read_text())["metadata"]
    return decode_table_metadata(Path(location).read_bytes(), location)


@pytest.mark.parametrize("number", TABLES)
def test_manifests_tell_the_table(golden: dict[str, Path], number: str) -> None:
    before = metadata_of(golden[number])
    found = version_from_manifests(IO, before.location, before.table_uuid, lambda: 0, random.Random(1))
    assert found is not None
    after = found.metadata
    assert found.left_out == ()
    assert after.current_snapshot_id == before.current_snapshot_id
    assert {one.snapshot_id for one in before.snapshots} <= {one.snapshot_id for one in after.snapshots}
    assert after.schema().same_columns(before.schema())
    assert {one.spec_id for one in after.partition_specs} <= set(before.specs_by_id())
    assert all(one.same_fields(before.specs_by_id()[one.spec_id]) for one in after.partition_specs)
    for name in ("format_version", "next_row_id", "last_sequence_number", "table_uuid"):
        assert getattr(after, name) == getattr(before, name), name
    errors = [one for one in check_table(IO, after, "m").findings if one.severity != Severity.NOTICE]
    assert errors == []


PARQUET = [number for number in TABLES if number != "d12"]


@pytest.mark.parametrize("number", PARQUET)
def test_data_files_tell_rows_and_partitioning(golden: dict[str, Path], number: str) -> None:
    before = metadata_of(golden[number])
    found = found_files(IO, before.location)
    head = before.current_snapshot()
    assert head is not None
    # No data file is left out: what is, has equality deletes.
    assert all("equality deletes" in one for one in found.left_out), found.left_out
    assert [field.id for field in found.schema.fields] == [field.id for field in before.schema().fields]
    assert found.untold == ()
    known = {tuple((field.name, str(field.transform)) for field in spec.fields) for spec in before.partition_specs}
    assert {tuple((field.name, str(field.transform)) for field in spec.fields) for spec in found.specs} <= known
    assert {file.spec_id for file in found.files} <= {spec.spec_id for spec in found.specs}
