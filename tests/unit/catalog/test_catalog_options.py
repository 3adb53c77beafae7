"""Options of catalogs: read, known to change nothing, or refused; none is accepted and dropped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sqlext.catalog.catalog_options import READ, require_known_options
from sqlext.catalog.catalog_settings import cares_for_keyed_tables, open_catalog
from sqlext.catalog.catalog_uri import options_of_uri
from sqlext.errors import AnalysisError, UnsupportedError

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


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"s3.endpoint": "localhost:9000"}, "CATALOG_OPTION_INVALID.*s3.endpoint=localhost:9000.*a URL"),
        ({"s3.endpoint": "http://"}, "CATALOG_OPTION_INVALID"),
        ({"s3.endpoint": "https//store"}, "CATALOG_OPTION_INVALID"),
        ({"s3.endpoint": "http://store:port"}, "CATALOG_OPTION_INVALID"),
        ({"s3.path-style-access": "yes"}, "CATALOG_OPTION_INVALID.*true or false"),
        ({"s3.access-key-id": "ada"}, "CATALOG_OPTION_REQUIRED.*s3.secret-access-key"),
        ({"s3.secret-access-key": "hush"}, "CATALOG_OPTION_REQUIRED.*s3.access-key-id"),
        ({"s3.session-token": "hush"}, "CATALOG_OPTION_REQUIRED.*s3.access-key-id"),
        ({"type": "jdbc", "uri": "sqlite:a.db", "jdbc.init-catalog-tables": "no"}, "CATALOG_OPTION_INVALID"),
        ({"type": "jdbc", "uri": "sqlite:a.db", "jdbc.schema-version": "2"}, "CATALOG_OPTION_INVALID.*V0 or V1"),
    ],
)
def test_a_value_that_would_be_dropped_or_taken_for_another_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnalysisError, match=told) as refused:
        open_catalog("lake", {"warehouse": str(tmp_path), **options})
    assert "hush" not in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        {"s3.endpoint": "HTTPS://store.example.org/", "s3.path-style-access": " True"},
        {"s3.endpoint": "http://[::1]:9000", "s3.access-key-id": "", "s3.secret-access-key": ""},
        {"s3.access-key-id": "ada", "s3.secret-access-key": "hush", "s3.session-token": "hush"},
    ],
)
def test_values_that_are_known(tmp_path: Path, options: dict[str, str]) -> None:
    assert open_catalog("lake", {"warehouse": str(tmp_path), **options}).name == "lake"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sqlite:a.db", "sql"),
        ("sqlite+pysqlite:///a.db", "sql"),
        ("postgresql+psycopg2://ada@host/lake", "sql"),
        ("postgres://host/lake", "sql"),
        ("jdbc:postgresql://host/lake", "sql"),
        ("https://host/api", "rest"),
        ("./postgresql://host", None),
        ("s3a://bucket/w", None),
        ("file:///w", None),
        ("sqlite", None),
    ],
)
def test_a_uri_says_what_it_is_of(text: str, kind: str | None) -> None:
    """In SQLAlchemy's form too, with a driver, as PyIceberg has it."""
    assert options_of_uri(text) == (None if kind is None else {"type": kind, "uri": text})


@pytest.mark.parametrize("text", ["mysql://ada:hush@host/lake", "thrift://host:9083", "gs://bucket/w", "hdfs://host/w"])
def test_a_uri_of_what_there_is_not(text: str) -> None:
    told = f"UNSUPPORTED_LOCATION.*{text.partition(':')[0]}.*sqlite:.*s3://"
    with pytest.raises(UnsupportedError, match=told) as refused:
        options_of_uri(text)
    assert "hush" not in str(refused.value)
