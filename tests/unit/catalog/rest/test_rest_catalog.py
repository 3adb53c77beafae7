"""Requests whose answers are lost or refused, tokens, several tables in one commit, and keys that the server gives."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.made_tables import DB, OTHER, VIEW, changed, create, refused, said_last, view_at
from catalog.rest_door import RestDoor
from catalog.rest_server import RestServer
from catalog.s3_server import S3Server
from small_tables import ORDERS, Writer, data_file, rows_of
from sqlext.catalog.catalog import TableCommit
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.rest.metadata_difference import updates
from sqlext.commit.actions.append import AppendFiles
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    CommitConflict,
    CommitStateUnknown,
    NotFoundError,
    StorageError,
)

SECRET = "s3cret-canary"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    server = RestServer(tmp_path_factory.mktemp("rest"))
    yield server
    server.stop()


@pytest.fixture
def door(server: RestServer) -> Iterator[RestDoor]:
    door = RestDoor(server.uri)
    yield door
    door.stop()


@pytest.fixture
def catalog(door: RestDoor) -> Any:
    catalog = opened(door)
    catalog.drop_namespace(DB, cascade=True)
    catalog.create_namespace(DB, {})
    return catalog


def opened(door: RestDoor, **options: str) -> Any:
    return open_catalog("lake", {"type": "rest", "uri": door.uri, **options})


@pytest.mark.parametrize("arrived", [True, False])
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_commit_whose_answer_is_lost_lands_once(catalog: Any, door: RestDoor, status: int, arrived: bool) -> None:
    writer = Writer(catalog, random.randrange(2**60))
    base = create(catalog)
    file = data_file(base.metadata, [1])
    lost = []

    def deaf(method: str, path: str, body: bytes, headers: Any) -> tuple[int, bytes] | None:
        if method == "POST" and path.endswith("/tables/orders") and not lost:
            lost.append(path)
            return status, b""
        return None

    if arrived:
        door.after = deaf
    else:
        door.before = deaf
    outcome = writer.commit(AppendFiles((file,)), base=base)
    assert lost
    assert rows_of(outcome.table) == [{"id": 1, "region": "eu"}]
    assert len(catalog.load_table(ORDERS).metadata.snapshots) == 1


def test_a_commit_that_stays_without_an_answer_deletes_nothing(catalog: Any, door: RestDoor) -> None:
    base = create(catalog)
    file = data_file(base.metadata, [1])
    down = []

    def silent(method: str, path: str, body: bytes, headers: Any) -> tuple[int, bytes] | None:
        down.extend([path] if method == "POST" else [])
        return (502, b"") if down else None

    door.after = silent
    with pytest.raises(CommitStateUnknown):
        Writer(catalog, random.randrange(2**60)).commit(AppendFiles((file,)), base=base)
    assert catalog.io.exists(file.file_path)
    door.after = lambda *request: None
    assert rows_of(catalog.load_table(ORDERS)) == [{"id": 1, "region": "eu"}]


@pytest.mark.parametrize("what", ["drop_table", "rename_table", "drop_view"])
@pytest.mark.parametrize("arrived", [True, False])
def test_a_change_of_a_name_whose_answer_is_lost_is_looked_for(
    catalog: Any, door: RestDoor, what: str, arrived: bool
) -> None:
    """Where it has not happened it still may, as the request may be on its way."""
    create(catalog)
    catalog.views.commit_view(VIEW, None, view_at(catalog))
    changes = {
        "drop_table": lambda: catalog.drop_table(ORDERS, purge=False),
        "rename_table": lambda: catalog.rename_table(ORDERS, OTHER),
        "drop_view": lambda: catalog.views.drop_view(VIEW),
    }

    def deaf(method: str, path: str, body: bytes, headers: Any) -> tuple[int, bytes] | None:
        return (502, b"") if method == "DELETE" or path.endswith("/rename") else None

    door.before, door.after = (door.before, deaf) if arrived else (deaf, door.after)
    if arrived:
        changes[what]()
    else:
        with pytest.raises(CommitStateUnknown):
            changes[what]()
    there = {"orders": catalog.table_exists(ORDERS), "other": catalog.table_exists(OTHER)}
    assert there == {"orders": not arrived or what == "drop_view", "other": arrived and what == "rename_table"}
    assert catalog.views.view_exists(VIEW) == (not arrived or what != "drop_view")


def test_names_that_views_have(catalog: Any) -> None:
    create(catalog)
    catalog.views.commit_view(VIEW, None, view_at(catalog))
    with pytest.raises(AlreadyExistsError):
        catalog.rename_table(ORDERS, VIEW)
    with pytest.raises(AnalysisError, match="EXPECT_TABLE_NOT_VIEW"):
        catalog.drop_table(VIEW, purge=False)
    assert catalog.table_exists(ORDERS)
    assert catalog.views.view_exists(VIEW)


def test_a_server_that_is_not_there(door: RestDoor) -> None:
    with pytest.raises(StorageError) as caught:
        open_catalog("lake", {"type": "rest", "uri": "http://127.0.0.1:1", "credential": f"ada:{SECRET}"})
    assert caught.value.condition == "CATALOG_UNREACHABLE"
    assert SECRET not in str(caught.value)
    with pytest.raises(AnalysisError) as missing:
        open_catalog("lake", {"type": "rest"})
    assert missing.value.condition == "CATALOG_OPTION_REQUIRED"


def test_a_server_that_goes_away_has_committed_nothing(server: RestServer) -> None:
    door = RestDoor(server.uri)
    catalog = opened(door)
    catalog.drop_namespace(DB, cascade=True)
    catalog.create_namespace(DB, {})
    base = create(catalog)
    catalog._client._uri = "http://127.0.0.1:1"
    with pytest.raises(StorageError) as caught:
        catalog.commit(ORDERS, base, changed(base, a="1"))
    assert caught.value.condition == "CATALOG_UNREACHABLE"
    door.stop()


@pytest.mark.parametrize("status", [401, 403])
def test_credentials_that_are_not_accepted(door: RestDoor, status: int) -> None:
    message = json.dumps({"error": {"message": f"bad {SECRET}", "type": "NotAuthorizedException", "code": status}})
    door.before = lambda *request: (status, message.encode())
    for given in ({"token": SECRET}, {"credential": f"ada:{SECRET}"}):
        with pytest.raises(StorageError) as caught:
            opened(door, **given)
        assert caught.value.condition == "CATALOG_LOGIN_FAILED"
        assert SECRET not in str(caught.value)


def test_a_token_is_fetched_for_a_credential_and_again_when_it_has_ended(door: RestDoor) -> None:
    numbers = iter(range(1, 100))
    asked = []

    def gate(method: str, path: str, body: bytes, headers: Any) -> tuple[int, bytes] | None:
        if path == "/v1/oauth/tokens":
            asked.append(body)
            return 200, json.dumps({"access_token": f"t{next(numbers)}", "token_type": "bearer"}).encode()
        return (401, b"{}") if headers.get("Authorization") == "Bearer t1" and len(door.seen) > 4 else None

    door.before = gate
    catalog = opened(door, credential=f"ada:{SECRET}", scope="tables")
    for _ in range(4):
        catalog.list_namespaces()
    assert len(asked) == 2
    assert b"client_id=ada" in asked[0]
    assert b"scope=tables" in asked[0]
    assert door.seen[-1][2] == "Bearer t2"


def test_the_real_server_gives_tokens(server: RestServer) -> None:
    catalog = open_catalog("lake", {**server.settings(), "credential": f"catalog:{SECRET}"})
    assert catalog.namespace_exists(())
    catalog.list_namespaces()


def test_the_server_of_tokens_is_told_where_it_is_the_one_that_is_not_there(door: RestDoor) -> None:
    with pytest.raises(StorageError, match=r"http://127\.0\.0\.1:1/tokens: ") as caught:
        opened(door, **{"credential": f"ada:{SECRET}", "oauth2-server-uri": "http://127.0.0.1:1/tokens"})
    assert door.uri not in str(caught.value)


def test_what_is_no_catalog_is_told_by_its_address(door: RestDoor) -> None:
    door.before = lambda *request: (404, b"<html>not found</html>")
    with pytest.raises(
        StorageError, match=f"cannot be reached: {door.uri}: 404 Not Found. No change was sent"
    ) as caught:
        opened(door)
    assert caught.value.condition == "CATALOG_UNREACHABLE"


def test_an_answer_that_is_no_json_is_none(catalog: Any, door: RestDoor) -> None:
    door.before = lambda *request: (200, b"<html>a proxy's page</html>")
    with pytest.raises(StorageError) as caught:
        catalog.list_namespaces()
    assert caught.value.condition == "CATALOG_NO_ANSWER"


def test_several_tables_are_committed_together_or_not_at_all(catalog: Any) -> None:
    first, second = create(catalog), create(catalog, OTHER)
    catalog.commit_tables(
        [TableCommit(ORDERS, first, changed(first, step="1")), TableCommit(OTHER, second, changed(second, step="1"))]
    )
    one, other = catalog.load_table(ORDERS), catalog.load_table(OTHER)
    assert (said_last(one)["step"], said_last(other)["step"]) == ("1", "1")
    with refused(CommitConflict):
        catalog.commit_tables(
            [TableCommit(ORDERS, one, changed(one, step="2")), TableCommit(OTHER, second, changed(second, step="2"))]
        )
    assert catalog.load_table(ORDERS).metadata == one.metadata
    assert catalog.load_table(OTHER).metadata == other.metadata


def test_pages_of_a_list_are_put_together(catalog: Any, door: RestDoor) -> None:
    def paged(method: str, path: str, body: bytes, headers: Any) -> tuple[int, bytes] | None:
        if "/tables" not in path or method != "GET":
            return None
        second = "pageToken=next" in path
        name = {"namespace": ["db"], "name": "b" if second else "a"}
        return 200, json.dumps({"identifiers": [name], "next-page-token": None if second else "next"}).encode()

    door.before = paged
    assert [one.name for one in catalog.list_tables(DB)] == ["a", "b"]


def test_nothing_is_updated_where_nothing_changed(catalog: Any) -> None:
    base = create(catalog, properties={"a": "1"})
    assert updates(base.metadata, base.metadata) == []
    changes = updates(base.metadata, replace(base.metadata, properties={"b": "2"}))
    assert [one["action"] for one in changes] == ["remove-properties", "set-properties"]


def test_keys_that_the_server_gives_are_used_for_the_table(tmp_path: Path) -> None:
    s3 = S3Server()
    bucket = s3.new_bucket()
    keys = {name: value for name, value in s3.settings().items() if "key" in name}
    server = RestServer(
        tmp_path,
        warehouse=f"s3://{bucket}/w",
        **{"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "include-credentials": "true"},
        **s3.settings(),
    )
    door = RestDoor(server.uri)
    try:
        plain = {name: value for name, value in s3.settings().items() if name not in keys}
        learned = {}
        catalog: Any = open_catalog("lake", {"type": "rest", "uri": door.uri, **plain}, learned.__setitem__)
        catalog.create_namespace(DB, {})
        table = create(catalog)
        location = f"{table.metadata.location}/data/x"
        catalog.io.create(location, b"1")
        assert s3.keys(bucket)[0].endswith("/data/x")
        assert learned[table.metadata.location]["s3.access-key-id"] == keys["s3.access-key-id"]
        with pytest.raises(StorageError):
            catalog.io.create(f"s3://{bucket}/elsewhere", b"1")
        assert catalog.drop_table(ORDERS, purge=True)
        with pytest.raises(NotFoundError):
            catalog.load_table(ORDERS)
    finally:
        door.stop()
        server.stop()
        s3.stop()
