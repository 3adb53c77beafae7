"""Options of catalogs: read, known to change nothing, or refused; none is accepted and dropped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sqlext.catalog.catalog_options import READ, require_known_options
from sqlext.catalog.catalog_settings import cares_for_keyed_tables, open_catalog
from sqlext.errors import AnalysisError

DOCS = Path(__file__).resolve().parents[3] / "docs" / "catalogs.md"
KINDS = sorted(READ)


def refusal(kind: str, option: str) -> str | None:
    try:
        require_known_options("lake", kind, {option: "hush"})
    except AnalysisError as refused:
        return str(refused)
    return None


def test_no_value_is_told() -> None:
    """It may be a password."""
    said = str(refusal("sql", "jdbc.pasword"))
    assert "CATALOG_OPTION_REFUSED" in said
    assert "hush" not in said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("slip", "meant"),
    [("group-comit", "group-commit"), ("wharehouse", "warehouse"), ("s3.acess-key-id", "s3.access-key-id")],
)
def test_a_slip_is_refused_with_what_was_meant(kind: str, slip: str, meant: str) -> None:
    assert f"Did you mean {meant}?" in str(refusal(kind, slip))


def test_a_name_that_only_a_server_may_know() -> None:
    assert refusal("rest", "tenant") is None
    assert refusal("rest", "header.X-Tenant") is None
    for not_done in ("s3.sse.type", "rest.sigv4-enabled", "s3.remote-signing-enabled"):
        assert "there is no such option" in str(refusal("rest", not_done))
    assert "there is no such option" in str(refusal("filesystem", "tenant"))
    assert "there is no such option" in str(refusal("sql", "jdbc.sslpassword2"))


@pytest.mark.parametrize("kind", KINDS)
def test_icebergs_options(kind: str) -> None:
    for harmless in ("cache-enabled", "cache.expiration-interval-ms", "io-impl", "clients", "Cache-Enabled"):
        assert refusal(kind, harmless) is None
    assert refusal(kind, "table-default.write.merge.mode") is None
    for refused in ("catalog-impl", "table-override.format-version", "view-default.x", "hadoop.fs.s3a.endpoint"):
        assert "is refused" in str(refusal(kind, refused))


@pytest.mark.parametrize("kind", ["hive", "glue", "nessie", "dynamodb"])
def test_catalogs_that_there_are_not(kind: str) -> None:
    with pytest.raises(AnalysisError, match=rf"CATALOG_OPTION_INVALID.*{kind}.*hadoop, jdbc or rest"):
        open_catalog("lake", {"type": kind, "warehouse": "/tmp"})


def test_every_option_in_the_documents_is_known() -> None:
    text = DOCS.read_text()
    settings = set(re.findall(r"spark\.sql\.catalog\.\w+\.([\w.-]*[\w])", text))
    options = settings | {"jdbc.init-catalog-tables", "jdbc.schema-version", "undrop-retention", "allowed-locations"}
    assert len(options) > 5
    for option in options:
        assert any(refusal(kind, option) is None for kind in KINDS), option


@pytest.mark.parametrize(("said", "cares"), [({}, True), ({"care": "Keyed"}, True), ({"care": " none"}, False)])
def test_new_tables_with_a_key_look_after_themselves(said: dict[str, str], cares: bool) -> None:
    assert cares_for_keyed_tables("lake", said) == cares


def test_care_of_another_kind_is_refused() -> None:
    with pytest.raises(AnalysisError, match=r"CATALOG_OPTION_INVALID.*keyed or none"):
        open_catalog("lake", {"warehouse": "/tmp", "care": "all"})
