"""What names a batch, and how a table remembers it."""

from __future__ import annotations

import dataclasses

import pytest

from sqlext.errors import BatchRanBefore, CorruptionError
from sqlext.spec.metadata.idempotent_batch import (
    LARGEST_VERSION,
    LONGEST_APP_ID,
    Batch,
    BatchRun,
    application_id,
    batch_version,
)
from sqlext.spec.metadata.stream_state import BATCH_PREFIX, settings_of
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.types import LongType, NestedField


def _table(**properties: str) -> TableMetadata:
    schema = Schema((NestedField(1, "id", LongType()),))
    table = new_table_metadata(schema, PartitionSpec(0, ()), UNSORTED, "file:/t", {}, 2, "u", 1)
    return dataclasses.replace(table, properties=properties)


@pytest.mark.parametrize(
    ("version", "number"), [("0", 0), (" 7 ", 7), ("007", 7), (str(LARGEST_VERSION), LARGEST_VERSION)]
)
def test_versions(version: str, number: int) -> None:
    assert batch_version(version) == number


@pytest.mark.parametrize("version", ["", "-1", "1.0", "x", "²", "٣", str(LARGEST_VERSION + 1), "9" * 100_000])
def test_what_is_no_version(version: str) -> None:
    with pytest.raises(ValueError, match="from 0 to 9223372036854775807"):
        batch_version(version)


@pytest.mark.parametrize("app_id", ["", "  ", "x" * (LONGEST_APP_ID + 1), "\ud800"])
def test_what_is_no_application(app_id: str) -> None:
    with pytest.raises(ValueError, match=r"a text of 1 to 256|a Unicode text"):
        application_id(app_id)


@pytest.mark.parametrize("app_id", ["app", "a b", "a.b/c%d=", "büro", "x" * LONGEST_APP_ID])
def test_a_record_is_read_as_it_was_written(app_id: str) -> None:
    run = BatchRun(Batch(application_id(app_id), 5), "run", 77)
    name = run.batch.property_name
    assert name.isascii()
    assert " " not in name
    assert "=" not in name
    table = _table(**{name: run.encode()})
    assert Batch(app_id, 9).last_run(table, "t") == run
    assert Batch(app_id + "x", 9).last_run(table, "t") is None


def test_equal_names_are_of_equal_applications() -> None:
    assert len({Batch(app_id, 1).property_name for app_id in ("a b", "a+b", "a%20b", "a%b", "A b")}) == 5


def test_an_earlier_version_of_another_run_is_refused() -> None:
    stored = BatchRun(Batch("app", 5), "first", 1)
    table = _table(**{stored.batch.property_name: stored.encode()})
    stored.require_first(table, "t")
    BatchRun(Batch("app", 6), "second", 2).require_first(table, "t")
    for version in (4, 5):
        with pytest.raises(BatchRanBefore, match=f"Batch {version} .* t has its batches up to 5"):
            BatchRun(Batch("app", version), "second", 2).require_first(table, "t")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "version": "x", "run": "r", "at": 1}', "7", "null"]
)
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(CorruptionError, match=r"BATCH_UNREADABLE.*sqlext\.txn\.app"):
        Batch("app", 1).last_run(_table(**{BATCH_PREFIX + "app": text}), "t")


def test_it_is_no_setting_of_the_table() -> None:
    assert settings_of({BATCH_PREFIX + "app": "{}", "mine": "1"}) == {"mine": "1"}
