from __future__ import annotations

import pytest

from sqlext.errors import AnalysisError
from sqlext.property_names import require_known, require_no_secrets, require_valid_properties


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("write.merge.mdoe", "write.merge.mode"),
        ("write.upsert_mode", "write.upsert.mode"),
        ("read.split.target-sise", "read.split.target-size"),
        ("commit.retry.num-retrys", "commit.retry.num-retries"),
        ("history.expire.min-snapshot-to-keep", "history.expire.min-snapshots-to-keep"),
        ("format_version", "format-version"),
        ("Format-Version", "format-version"),
        ("formatversion", "format-version"),
        ("wirte.upsert.mode", "write.upsert.mode"),
        ("write.metadata.metrics.colum.id", "write.metadata.metrics.column."),
    ],
)
def test_a_slip_in_a_name_is_refused_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(AnalysisError) as refusal:
        require_known([name])
    assert refusal.value.condition == "UNKNOWN_TABLE_PROPERTY"
    assert refusal.value.parameters == {"name": name, "way_out": f"Did you mean {nearest}?"}


def test_known_names_and_those_of_other_programs_pass() -> None:
    require_known(["write.merge.mode", "write.parquet.bloom-filter-enabled.column.id", "write.upsert.mode", "comment"])
    require_known(["owner", "team.write", "flink.sink", "connector", "delta.enableChangeDataFeed", "version", "a"])


@pytest.mark.parametrize(
    "name",
    [
        "s3.secret-access-key",
        "s3.access-key-id",
        "fs.s3a.access.key",
        "jdbc.password",
        "token",
        "adls.sas-token.account",
        "client.credential",
        "accessKey",
        "gcs.oauth2.token",
        "sessionToken",
        "PRIVATE_KEY",
    ],
)
def test_what_looks_like_a_secret_is_refused(name: str) -> None:
    with pytest.raises(AnalysisError) as refusal:
        require_no_secrets([name])
    assert refusal.value.condition == "SECRET_TABLE_PROPERTY"


def test_no_secret_is_seen_where_there_is_none() -> None:
    require_no_secrets(["encryption.key-id", "tokenizer", "primary-key", "secretary", "write.key.enforced", "keys"])


def test_a_refused_secret_is_not_repeated() -> None:
    with pytest.raises(AnalysisError) as refusal:
        require_valid_properties({"password": "hunter2"})
    assert "hunter2" not in str(refusal.value)


def test_values_are_checked_when_they_are_set() -> None:
    with pytest.raises(AnalysisError) as refusal:
        require_valid_properties({"write.upsert.mode": "fast"})
    assert refusal.value.condition == "INVALID_TABLE_PROPERTY"


@pytest.mark.parametrize("name", ["identifier-fields", "current-snapshot-id", "sort-order", "uuid", "format"])
def test_what_the_metadata_tells_is_not_set(name: str) -> None:
    with pytest.raises(AnalysisError) as refusal:
        require_valid_properties({name: "1"})
    assert refusal.value.condition == "RESERVED_TABLE_PROPERTY"
