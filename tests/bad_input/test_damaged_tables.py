"""Tables whose files were cut, changed or lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from bad_input.refusals import nothing_left, refused, table_folder
from judges.iceberg import IcebergJudge


@pytest.fixture
def folder(spark: SparkSession, warehouse: Path, table_name: str) -> Path:
    """Folder of a table of two snapshots that nothing has read since."""
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"INSERT INTO {table_name} VALUES (2)")
    return table_folder(warehouse, table_name)


def _newest_metadata(folder: Path) -> Path:
    return folder / "metadata" / "v3.metadata.json"


def _truncate(folder: Path) -> Path:
    path = _newest_metadata(folder)
    path.write_bytes(path.read_bytes()[:100])
    return path


def _write(text: str) -> Callable[[Path], Path]:
    def damage(folder: Path) -> Path:
        _newest_metadata(folder).write_text(text)
        return _newest_metadata(folder)

    return damage


@pytest.mark.parametrize(
    "damage",
    [_truncate, _write(""), _write("[]"), _write('{"format-version": 2}'), _write("\x00\x01")],
    ids=["cut", "empty", "list", "incomplete", "binary"],
)
@pytest.mark.parametrize(
    "statement", ["SELECT * FROM {t}", "INSERT INTO {t} VALUES (3)", "DELETE FROM {t} WHERE id = 1"]
)
def test_corrupt_metadata(
    spark: SparkSession, folder: Path, table_name: str, damage: Callable[[Path], Path], statement: str
) -> None:
    path = damage(folder)
    with nothing_left(folder):
        message = refused("CORRUPT_FILE", lambda: spark.sql(statement.format(t=table_name)).collect())
    assert path.name in message


def test_missing_metadata(spark: SparkSession, folder: Path, table_name: str) -> None:
    """The hint names a version that is gone: an older one must not be taken in its place."""
    _newest_metadata(folder).unlink()
    with nothing_left(folder):
        message = refused("FILE_NOT_FOUND", lambda: spark.sql(f"SELECT * FROM {table_name}").collect())
        refused("FILE_NOT_FOUND", lambda: spark.sql(f"INSERT INTO {table_name} VALUES (3)"))
    assert "v3.metadata.json" in message


@pytest.mark.parametrize(("pattern", "kind"), [("snap-*.avro", "manifest list"), ("[!s]*.avro", "manifest")])
@pytest.mark.parametrize("condition", ["FILE_NOT_FOUND", "CORRUPT_FILE"])
def test_lost_and_cut_manifests(
    spark: SparkSession,
    iceberg: IcebergJudge,
    folder: Path,
    table_name: str,
    pattern: str,
    kind: str,
    condition: str,
) -> None:
    # This process keeps the manifest lists that it wrote.
    iceberg.sql(f"INSERT INTO {table_name} VALUES (3)")
    for path in (folder / "metadata").glob(pattern):
        if condition == "FILE_NOT_FOUND":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-40])
    with nothing_left(folder):
        message = refused(condition, lambda: spark.read.format("sqlext").load(str(folder)).collect())
    assert kind in message


def test_lost_data_file(spark: SparkSession, folder: Path, table_name: str) -> None:
    lost = next((folder / "data").rglob("*.parquet"))
    lost.unlink()
    with nothing_left(folder):
        message = refused("FILE_NOT_FOUND", lambda: spark.table(table_name).collect())
    assert lost.name in message


@pytest.mark.parametrize("damage", ["cut", "emptied", "lost", "of a later version"])
def test_a_damaged_table_is_dropped(spark: SparkSession, folder: Path, table_name: str, damage: str) -> None:
    newest = _newest_metadata(folder)
    text = newest.read_text()
    match damage:
        case "cut":
            newest.write_text(text[: len(text) // 2])
        case "emptied":
            newest.write_text("")
        case "lost":
            newest.unlink()
        case _:
            newest.write_text(re.sub(r'"format-version": ?\d', '"format-version":99', text))
    with pytest.raises(AnalysisException):
        spark.sql(f"SELECT * FROM {table_name}").collect()
    with pytest.raises(AnalysisException):  # nothing is made in its place
        spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"DROP TABLE {table_name}")
    assert not folder.exists()
    spark.sql(f"CREATE TABLE {table_name} (id INT)")


def test_cut_data_file(spark: SparkSession, folder: Path, table_name: str) -> None:
    cut = next((folder / "data").rglob("*.parquet"))
    cut.write_bytes(cut.read_bytes()[:50])
    message = refused("FAILED_READ_FILE.NO_HINT", lambda: spark.table(table_name).collect())
    assert cut.name in message


def test_no_table_at_a_path(spark: SparkSession, tmp_path: Path) -> None:
    refused("NO_TABLE_AT_LOCATION", lambda: spark.read.format("sqlext").load(str(tmp_path)).collect())
