"""Options of DataFrame reads and writes: known ones, and the refusals of others."""

from __future__ import annotations

import pytest

from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spark.catalog.frame_options import (
    WriteOptions,
    require_not_contradicted,
    require_read_options,
    write_options,
)
from sqlext.spec.metadata.idempotent_batch import Batch


def test_what_a_writes_options_ask_for() -> None:
    options = {
        "Branch": "audit",
        "mergeSchema": "TRUE",
        "target-file-size-bytes": "1000",
        "compression-codec": "gzip",
        "distribution-mode": "none",
        "snapshot-property.Run": "7",
        "fanout-enabled": "true",
        "write-format": "parquet",
    }
    assert write_options(options) == WriteOptions(
        branch="audit",
        merge_schema=True,
        settings={
            "write.target-file-size-bytes": "1000",
            "write.parquet.compression-codec": "gzip",
            "write.distribution-mode": "none",
        },
        summary=(("Run", "7"),),
    )
    assert write_options({}) == WriteOptions()


@pytest.mark.parametrize("names", [("txn-app-id", "txn-version"), ("txnAppId", "TXNVERSION")])
def test_an_idempotent_batch(names: tuple[str, str]) -> None:
    assert write_options({names[0]: "a b", names[1]: "7"}) == WriteOptions(batch=Batch("a b", 7))


@pytest.mark.parametrize(
    ("options", "condition", "told"),
    [
        ({"txn-app-id": "a"}, "BATCH_NOT_IDENTIFIED", "option txn-app-id is there without the option txn-version"),
        ({"txnVersion": "1"}, "BATCH_NOT_IDENTIFIED", "option txnVersion is there without the option txn-app-id"),
        (
            {"txn-app-id": "a", "txn-version": "x"},
            "INVALID_WRITE_OPTION",
            "txn-version = x is refused: it must be a whole",
        ),
        ({"txn-app-id": "", "txn-version": "1"}, "INVALID_WRITE_OPTION", "txn-app-id =  is refused: it must be a text"),
        ({"txn-app": "a", "txn-version": "1"}, "UNKNOWN_OPTION", "Did you mean txn-app-id"),
    ],
)
def test_what_names_no_batch_is_refused(options: dict[str, str], condition: str, told: str) -> None:
    with pytest.raises(AnalysisError, match=told) as refused:
        write_options(options)
    assert refused.value.condition == condition


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("target-file-size", "target-file-size-bytes"), ("merge_schema", "merge-schema"), ("brunch", "branch")],
)
def test_an_unknown_option_of_a_write_is_refused_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(AnalysisError, match=f"Did you mean {nearest}") as refused:
        write_options({name: "1"})
    assert refused.value.condition == "UNKNOWN_OPTION"


@pytest.mark.parametrize(
    ("name", "value"),
    [("isolation-level", "snapshot"), ("write-format", "orc"), ("check-nullability", "false"), ("overwrite-mode", "x")],
)
def test_what_a_write_does_not_do_is_refused(name: str, value: str) -> None:
    with pytest.raises(UnsupportedError, match=name):
        write_options({name: value})


def test_a_value_that_does_not_parse_is_refused() -> None:
    with pytest.raises(AnalysisError, match="target-file-size-bytes = big"):
        write_options({"target-file-size-bytes": "big"})


def test_options_of_reads() -> None:
    require_read_options(["Snapshot-Id", "split-size", "versionAsOf", "vectorization-enabled", "path"])
    with pytest.raises(AnalysisError, match="Did you mean snapshot-id"):
        require_read_options(["snapshotid"])
    with pytest.raises(UnsupportedError, match="start-snapshot-id"):
        require_read_options(["start-snapshot-id"])


@pytest.mark.parametrize(
    ("options", "upserts", "refused"),
    [
        ({}, True, None),
        ({"upsert-enabled": "true", "overwrite-enabled": "false"}, True, None),
        ({"Upsert-Enabled": "FALSE"}, True, "upsert-enabled = false"),
        ({"overwrite-enabled": "true"}, True, "overwrite-enabled = true"),
        ({"upsert-enabled": "true"}, False, "upsert-enabled = true"),
        ({"upsert-enabled": "false"}, False, "upsert-enabled = false"),
    ],
)
def test_options_beside_a_statement_that_goes_by_the_key(options, upserts, refused) -> None:
    def ask() -> None:
        require_not_contradicted(write_options(options), "UPSERT", "Write INSERT", upserts=upserts)

    if refused is None:
        ask()
        return
    with pytest.raises(AnalysisError, match=refused) as error:
        ask()
    assert error.value.condition == "UPSERT_CONTRADICTED"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("upsert-enabled", "ja"),
        ("mergeSchema", "yes"),
        ("overwrite-enabled", "1"),
        ("write-parallelism", "0"),
        ("compression-codec", "brotli"),
        ("delete-granularity", "row"),
        ("Target-File-Size-Bytes", "big"),
        ("branch", " "),
    ],
)
def test_a_refused_value_is_told_by_the_option_that_was_written(name: str, value: str) -> None:
    with pytest.raises(AnalysisError, match=f"The write option {name} = {value} ") as refused:
        write_options({name: value})
    assert refused.value.condition == "INVALID_WRITE_OPTION"


def test_an_unknown_option_that_is_like_none_is_told_those_there_are() -> None:
    with pytest.raises(AnalysisError, match=r"option tag is refused.* Supported are branch, .*upsert-enabled"):
        write_options({"tag": "v1"})
    with pytest.raises(AnalysisError, match=r"Supported are as-of-timestamp, branch, snapshot-id, tag\."):
        require_read_options(["scan.mode"])
