"""Tables of a REST server and of an object store, as a terminal shows them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sqlext.local
from catalog.rest_model_server import RestModelServer
from catalog.s3_server import Answer, Application, S3Server
from small_tables import ORDERS, SCHEMA
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.loop.transaction import commit
from sqlext.errors import AnalysisError
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.sort_order import UNSORTED
from unit.terminal.command_line import CommandLine


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestModelServer]:
    server = RestModelServer(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def store() -> Iterator[S3Server]:
    store = S3Server()
    yield store
    store.stop()


def with_table(catalog: Catalog) -> None:
    """Makes the empty table `db.orders`."""
    catalog.create_namespace(ORDERS.namespace, {})
    action = CreateTable(
        schema=SCHEMA,
        spec=UNPARTITIONED,
        sort_order=UNSORTED,
        properties={},
        format_version=2,
        location=catalog.default_table_location(ORDERS),
    )
    commit(catalog, ORDERS, action, base=None, clock=lambda: 0, rng=random.Random(1))


def test_a_server_is_named_by_its_uri(
    server: RestModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_table(open_catalog("lake", server.settings()))
    run = CommandLine(monkeypatch, capsys, server.settings()["uri"])
    assert run("tables", "--json").document == [{"name": "db.orders", "kind": "table"}]
    for command in ("describe", "history", "health", "files", "fsck", "changes", "cat"):
        assert run(command, "db.orders").out
    assert "TABLE_OR_VIEW_NOT_FOUND" in run("describe", "db.nope", code=1).error


def test_a_warehouse_in_s3_takes_its_settings_as_options(
    store: S3Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse, settings = f"s3://{store.new_bucket()}/w", store.settings()
    with_table(open_catalog("lake", {**settings, "warehouse": warehouse}))
    run = CommandLine(monkeypatch, capsys, warehouse)
    monkeypatch.setenv("SQLEXT_OPTIONS", " ".join(f"{key}={value}" for key, value in settings.items()))
    assert run("tables", "--json").document == [{"name": "db.orders", "kind": "table"}]
    described = run("describe", "db.orders", "--json").document
    assert described["location"] == f"{warehouse}/db/orders"
    # By its place, with the same settings.
    assert run("describe", described["metadata_location"], "--json").document["uuid"] == described["uuid"]


def test_keys_that_only_read_are_enough_to_look(
    store: S3Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse, settings = f"s3://{store.new_bucket()}/w", store.settings()
    with_table(open_catalog("lake", {**settings, "warehouse": warehouse}))
    run = CommandLine(monkeypatch, capsys, warehouse)
    monkeypatch.setenv("SQLEXT_OPTIONS", " ".join(f"{key}={value}" for key, value in settings.items()))

    def denied(application: Application, request: dict[str, Any], respond: Any) -> Answer:
        if request["REQUEST_METHOD"] in ("GET", "HEAD"):
            return application(request, respond)
        respond("403 Forbidden", [("Content-Type", "application/xml")])
        return [b"<Error><Code>AccessDenied</Code></Error>"]

    store.door = denied
    for command in ("describe", "history", "health", "files", "fsck", "changes", "cat"):
        assert run(command, "db.orders").out
    assert run("tables", "--details", "--json").document[0]["name"] == "db.orders"
    assert "STORAGE_ACCESS_DENIED" in run("fsck", "db.orders", "--repair", code=1).error


def test_an_endpoint_that_is_no_address_is_told_for_a_place_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = CommandLine(monkeypatch, capsys, "s3://bucket/w")
    monkeypatch.setenv("SQLEXT_OPTIONS", "s3.endpoint=localhost:9000")
    for asked in ("db.orders", "s3://bucket/w/db/orders"):
        assert run("describe", asked, code=1).error.startswith("CATALOG_OPTION_INVALID")
    with pytest.raises(AnalysisError, match="CATALOG_OPTION_INVALID"):
        sqlext.local.open("s3://bucket/w", {"s3.endpoint": "localhost:9000"})
