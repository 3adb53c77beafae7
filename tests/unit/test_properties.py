from __future__ import annotations

import pytest

from sqlext.errors import AnalysisError
from sqlext.properties import (
    ALL,
    COMMIT_RETRY_TOTAL_TIMEOUT_MS,
    CONSUMER_EXPIRATION,
    DELETE_MODE,
    IGNORE_DELETE,
    MANIFEST_MERGE_ENABLED,
    MERGE_MODE,
    PARQUET_COMPRESSION_LEVEL,
    UPSERT_MODE,
    TableProperty,
    as_stored,
    require_writable,
    row_level_mode,
)


def test_a_property_may_have_several_names_that_say_one_thing() -> None:
    for name in (
        "ignore-delete",
        "first-row.ignore-delete",
        "deduplicate.ignore-delete",
        "partial-update.ignore-delete",
    ):
        assert IGNORE_DELETE.of({name: "true"}) is True
        with pytest.raises(AnalysisError, match=f"{name} = maybe"):
            IGNORE_DELETE.of({name: "maybe"})
    assert IGNORE_DELETE.of({"ignore-delete": "true", "first-row.ignore-delete": "true"}) is True
    with pytest.raises(AnalysisError, match=r"deduplicate\.ignore-delete, which is another name of it, is false"):
        IGNORE_DELETE.of({"ignore-delete": "true", "deduplicate.ignore-delete": "false"})


def test_a_property_that_is_not_set_has_its_default() -> None:
    assert COMMIT_RETRY_TOTAL_TIMEOUT_MS.of({}) == 1_800_000
    assert PARQUET_COMPRESSION_LEVEL.of({}) is None


def test_values_are_parsed() -> None:
    assert MANIFEST_MERGE_ENABLED.of({"commit.manifest-merge.enabled": "FALSE"}) is False
    assert UPSERT_MODE.of({"write.upsert.mode": " Equality "}) == "equality"
    assert COMMIT_RETRY_TOTAL_TIMEOUT_MS.of({"commit.retry.total-timeout-ms": "5"}) == 5


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (COMMIT_RETRY_TOTAL_TIMEOUT_MS, "soon"),
        (COMMIT_RETRY_TOTAL_TIMEOUT_MS, "-1"),
        (MANIFEST_MERGE_ENABLED, "yes"),
        (UPSERT_MODE, "fast"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(known: TableProperty[object], text: str) -> None:
    with pytest.raises(AnalysisError, match=known.name) as raised:
        known.of({known.name: text})
    assert raised.value.condition == "INVALID_TABLE_PROPERTY"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("write.format.default", "avro"),
        ("write.delete.format.default", "orc"),
        ("write.location-provider.impl", "org.example.Locations"),
        ("write.object-storage.path", "/x"),
        ("write.folder-storage.path", "/x"),
        ("encryption.key-id", "k"),
    ],
)
def test_what_a_write_would_not_do_is_refused(name: str, value: str) -> None:
    with pytest.raises(AnalysisError, match=name):
        require_writable({name: value})
    assert ALL[name].default in (None, "parquet")


def test_what_asks_for_what_is_done_anyway_is_lawful() -> None:
    require_writable({"write.format.default": "PARQUET", "write.delete.mode": "copy-on-write", "owner-team": "x"})


def test_auto_is_stored_where_other_engines_do_not_look() -> None:
    stored, removed = as_stored({"write.merge.mode": " Auto", "write.delete.mode": "copy-on-write", "owner": "x"})
    assert stored == {"sqlext.write.merge.mode": "auto", "write.delete.mode": "copy-on-write", "owner": "x"}
    assert removed == {"sqlext.write.delete.mode"}
    assert row_level_mode(MERGE_MODE, stored) == "auto"
    assert row_level_mode(MERGE_MODE, {**stored, "write.merge.mode": "copy-on-write"}) == "auto"
    assert row_level_mode(DELETE_MODE, stored) == "copy-on-write"


def test_another_mode_or_none_ends_auto() -> None:
    assert as_stored({"write.merge.mode": "merge-on-read"})[1] == {"sqlext.write.merge.mode"}
    assert as_stored({}, {"write.merge.mode"}) == ({}, {"write.merge.mode", "sqlext.write.merge.mode"})
    assert as_stored({"owner": "x"}, {"team"}) == ({"owner": "x"}, {"team"})


def test_auto_that_another_engine_wrote_is_understood() -> None:
    assert row_level_mode(MERGE_MODE, {"write.merge.mode": "auto"}) == "auto"
    assert row_level_mode(MERGE_MODE, {}) == "merge-on-read"


@pytest.mark.parametrize(
    ("text", "milliseconds"), [("7 d", 604_800_000), ("90min", 5_400_000), ("1 Hour", 3_600_000), ("10 s", 10_000)]
)
def test_durations_have_units(text: str, milliseconds: int) -> None:
    assert CONSUMER_EXPIRATION.of({"consumer.expiration-time": text}) == milliseconds


def test_a_duration_without_a_unit_is_refused() -> None:
    with pytest.raises(AnalysisError):
        CONSUMER_EXPIRATION.of({"consumer.expiration-time": "7"})
