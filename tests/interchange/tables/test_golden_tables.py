"""Tables that Iceberg's Java and Flink writers made are read with the rows that they recorded."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from golden_tables.relocation import unpack
from judges.canonical import canonical_rows, sort_rows

FOLDER = Path(__file__).parents[2] / "golden_tables"
SETS = {"golden_dev.zip": "dev", "golden_flink_dev.zip": "flink_dev"}

# a table stands here while a feature that it needs is refused; the list only shrinks
NOT_YET: dict[str, str] = {}


def table_names(archive: str) -> list[str]:
    with zipfile.ZipFile(FOLDER / archive) as file:
        return sorted(json.loads(file.read(f"{SETS[archive]}/index.json"))["tables"])


TABLES = [(archive, name) for archive in SETS for name in table_names(archive)]


@pytest.fixture(scope="session")
def golden_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each set, unpacked and with its absolute paths rewritten."""
    return {archive: unpack(FOLDER / archive, tmp_path_factory.mktemp("golden_tables").resolve()) for archive in SETS}


def expected_of(folder: Path, name: str) -> tuple[str, dict[str, Any]]:
    """Metadata location and recorded answers of a table."""
    index = json.loads((folder / "index.json").read_text())["tables"][name]
    return index["metadata"], json.loads((folder / name / "expected.json").read_text())


@pytest.mark.turns(4)
@pytest.mark.parametrize(("archive", "name"), [t for t in TABLES if t[1] not in NOT_YET])
def test_rows_are_the_recorded_ones(
    spark: SparkSession, golden_folders: dict[str, Path], archive: str, name: str
) -> None:
    metadata, expected = expected_of(golden_folders[archive], name)
    frame = spark.read.format("sqlext").load(metadata)
    assert [[field.name, field.dataType.simpleString()] for field in frame.schema.fields] == expected["schema"]
    assert canonical_rows(frame) == expected["rows"]
    # here equality deletes are joined, however few they are
    assert canonical_rows(frame.where("NOT _deleted").select(*frame.columns)) == expected["rows"]
    assert frame.count() == expected["count"]
    for query in expected["queries"]:
        assert canonical_rows(frame.where(query["where"])) == query["rows"], query["where"]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("archive", "name"), [t for t in TABLES if t[1] not in NOT_YET])
def test_old_snapshots_are_the_recorded_ones(
    spark: SparkSession, golden_folders: dict[str, Path], archive: str, name: str
) -> None:
    metadata, expected = expected_of(golden_folders[archive], name)
    for snapshot in expected["snapshots"]:
        frame = spark.read.format("sqlext").option("versionAsOf", snapshot["snapshot_id"]).load(metadata)
        assert canonical_rows(frame) == snapshot["rows"], snapshot["snapshot_id"]


@pytest.mark.turns(4)
@pytest.mark.parametrize(("archive", "name"), [t for t in TABLES if t[1] not in NOT_YET])
def test_branches_and_tags_are_the_recorded_ones(
    spark: SparkSession, golden_folders: dict[str, Path], archive: str, name: str
) -> None:
    metadata, expected = expected_of(golden_folders[archive], name)
    for ref, recorded in expected["refs"].items():
        frame = spark.read.format("sqlext").option(recorded["type"], ref).load(metadata)
        assert [[field.name, field.dataType.simpleString()] for field in frame.schema.fields] == recorded["schema"], ref
        assert canonical_rows(frame) == recorded["rows"], ref


@pytest.mark.parametrize(("archive", "name"), [("golden_dev.zip", "d03_v3_dv"), ("golden_dev.zip", "d07_v3_defaults"),
                                               ("golden_flink_dev.zip", "f06_v3_upsert")])  # fmt: skip
def test_row_lineage_is_the_recorded_one(
    spark: SparkSession, golden_folders: dict[str, Path], archive: str, name: str
) -> None:
    metadata, expected = expected_of(golden_folders[archive], name)
    frame = spark.read.format("sqlext").load(metadata)
    columns = ["_row_id", "_last_updated_sequence_number", *frame.columns]
    assert canonical_rows(frame.select(*columns)) == sort_rows(expected["lineage"])


@pytest.mark.parametrize(("archive", "name"), [t for t in TABLES if t[1] in NOT_YET])
def test_tables_beyond_today_are_refused(
    spark: SparkSession, golden_folders: dict[str, Path], archive: str, name: str
) -> None:
    metadata, _ = expected_of(golden_folders[archive], name)
    with pytest.raises(AnalysisException) as refusal:
        spark.read.format("sqlext").load(metadata).collect()
    assert refusal.value.getCondition() == "UNSUPPORTED_TABLE_FEATURE"
    assert NOT_YET[name] in str(refusal.value)
