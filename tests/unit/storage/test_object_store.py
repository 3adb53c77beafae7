"""Objects in S3 as files: what obstore's answers mean, and stores that answer otherwise than they should."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from catalog.made_tables import DB, changed, create
from catalog.s3_server import KEY, SECRET, Answer, Application, S3Server
from free_port import free_port
from small_tables import ORDERS, Writer
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.errors import AnalysisError, CommitStateUnknown, StorageError, UnsupportedError
from sqlext.storage.object_store import ObjectStoreIO, S3Credential, S3Settings
from sqlext.storage.scheme_io import SchemeIO, s3_settings


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture
def s3(server: S3Server) -> Iterator[S3Server]:
    yield server
    server.door = None


@pytest.fixture
def bucket(s3: S3Server) -> str:
    return s3.new_bucket()


@pytest.fixture
def io(s3: S3Server) -> ObjectStoreIO:
    return ObjectStoreIO(s3_settings(s3.settings()), sleep=lambda seconds: None)


def test_a_file_is_made_once_and_replaced_at_will(io: ObjectStoreIO, bucket: str) -> None:
    location = f"s3://{bucket}/a/b.txt"
    assert not io.exists(location)
    io.create(location, b"first")
    with pytest.raises(FileExistsError):
        io.create(location, b"second")
    assert (io.read(location), io.size(location)) == (b"first", 5)
    io.replace(location, b"third")
    assert io.read(location) == b"third"
    io.delete(location)
    io.delete(location)
    with pytest.raises(FileNotFoundError):
        io.read(location)
    with pytest.raises(FileNotFoundError):
        io.open_input(location)


@pytest.mark.parametrize("name", ["a b", "r=%2F", "é", "100%", "q?x#y", "a+b&c"])
def test_names_are_taken_as_they_are(io: ObjectStoreIO, s3: S3Server, bucket: str, name: str) -> None:
    location = f"s3a://{bucket}/p/{name}/f.parquet"
    io.create(location, b"x")
    assert [status.path for status in io.list(f"s3a://{bucket}/p")] == [location]
    assert s3.keys(bucket) == [f"p/{name}/f.parquet"]
    assert io.read(location) == b"x"


@pytest.mark.parametrize("location", ["s3://", "s3:///key", "s3://b/a/../c", "s3://b/./c", "s3://b/a\0"])
def test_a_location_that_leaves_its_folder_is_refused(io: ObjectStoreIO, location: str) -> None:
    with pytest.raises(AnalysisError):
        io.read(location)


def test_streams_write_whole_objects_and_read_parts(io: ObjectStoreIO, s3: S3Server, bucket: str) -> None:
    location = f"s3://{bucket}/big"
    data = bytes(range(256)) * 50_000
    with io.open_output(location) as sink:
        for start in range(0, len(data), 1_000_000):
            sink.write(memoryview(data)[start : start + 1_000_000])
        assert sink.tell() == len(data)
        assert s3.keys(bucket) == []
    with pytest.raises(FileExistsError):
        io.open_output(location)
    with io.open_input(location) as source:
        source.seek(-300, 2)
        assert source.read() == data[-300:]
        source.seek(1_000_000)
        assert source.read(1_000_000) == data[1_000_000:2_000_000]


def test_folders_are_there_while_they_hold_something(io: ObjectStoreIO, s3: S3Server, bucket: str) -> None:
    root = f"s3://{bucket}/w"
    assert not io.folder_exists(root)
    io.create_folder(f"{root}/empty")
    with pytest.raises(FileExistsError):
        io.create_folder(f"{root}/empty")
    io.create(f"{root}/full/x", b"")
    io.create(f"{root}/full2/x", b"")
    assert io.list_folders(root) == ("empty", "full", "full2")
    assert [status.path for status in io.list(f"{root}/full")] == [f"{root}/full/x"]
    assert list(io.list(f"{root}/empty")) == []
    assert not io.delete_empty_folder(f"{root}/full")
    assert io.delete_empty_folder(f"{root}/empty")
    io.delete_folder(f"{root}/full")
    assert s3.keys(bucket) == ["w/full2/x"]


def test_a_store_that_overwrites_is_refused_at_the_start(s3: S3Server, bucket: str) -> None:
    def careless(server: Application, request: dict[str, Any], respond: Any) -> Answer:
        request.pop("HTTP_IF_NONE_MATCH", None)
        return server(request, respond)

    s3.door = careless
    with pytest.raises(UnsupportedError) as caught:
        open_catalog("lake", {"warehouse": f"s3://{bucket}/w", **s3.settings()})
    assert caught.value.condition == "CREATE_IF_ABSENT_UNSUPPORTED"
    assert s3.keys(bucket) == []


def test_a_store_that_nobody_runs_is_told_by_a_condition(s3: S3Server) -> None:
    settings = {**s3.settings(), "s3.endpoint": f"http://127.0.0.1:{free_port()}"}
    with pytest.raises(StorageError) as caught:
        open_catalog("lake", {"warehouse": "s3://bucket/w", **settings})
    assert caught.value.condition == "STORAGE_FAILURE"
    assert str(caught.value).count("Writing") == 1


@pytest.mark.parametrize("arrived", [True, False])
def test_a_commit_whose_answer_is_lost_lands_once(s3: S3Server, bucket: str, arrived: bool) -> None:
    catalog: Any = open_catalog("lake", {"warehouse": f"s3://{bucket}/w", **s3.settings()})
    catalog.create_namespace(DB, {})
    base = create(catalog)
    lost = []

    def deaf(server: Application, request: dict[str, Any], respond: Any) -> Answer:
        if request["REQUEST_METHOD"] != "PUT" or "v2.metadata" not in request["PATH_INFO"] or lost:
            return server(request, respond)
        lost.append(request["PATH_INFO"])
        if arrived:
            list(server(request, lambda *answer: None))
        respond("500 Internal Server Error", [("Content-Length", "0")])
        return []

    s3.door = deaf
    outcome = Writer(catalog).commit(ChangeProperties({"a": "1"}), base=base)
    assert lost
    assert outcome.table.metadata.properties == {"a": "1"}
    assert catalog.load_table(ORDERS).metadata == outcome.table.metadata
    assert [key.rpartition("/")[2] for key in s3.keys(bucket) if key.endswith(".json")] == [
        "v1.metadata.json",
        "v2.metadata.json",
    ]


def test_a_store_that_falls_silent_leaves_a_commit_unknown(s3: S3Server, bucket: str) -> None:
    catalog: Any = open_catalog("lake", {"warehouse": f"s3://{bucket}/w", **s3.settings()})
    catalog.io.objects._sleep = lambda seconds: None
    catalog.create_namespace(DB, {})
    base = create(catalog)

    def silent(server: Application, request: dict[str, Any], respond: Any) -> Answer:
        if request["REQUEST_METHOD"] != "PUT":
            return server(request, respond)
        respond("503 Slow Down", [("Content-Length", "0")])
        return []

    s3.door = silent
    with pytest.raises(CommitStateUnknown):
        catalog.commit(ORDERS, base, changed(base, a="1"))


def test_wrong_keys_are_told_and_not_shown(s3: S3Server, bucket: str) -> None:
    def denied(server: Application, request: dict[str, Any], respond: Any) -> Answer:
        respond("403 Forbidden", [("Content-Length", "0")])
        return []

    s3.door = denied
    with pytest.raises(StorageError) as caught:
        open_catalog("lake", {"warehouse": f"s3://{bucket}/w", **s3.settings()})
    assert caught.value.condition == "STORAGE_ACCESS_DENIED"
    assert SECRET not in str(caught.value)


def test_a_bucket_that_is_not_there(s3: S3Server) -> None:
    with pytest.raises(StorageError, match="bucket"):
        open_catalog("lake", {"warehouse": "s3://no-such-bucket/w", **s3.settings()})
    looking = open_catalog("lake", {"warehouse": "s3://no-such-bucket/w", **s3.settings()}, writes=False)
    with pytest.raises(StorageError, match=r"failed: there is no such bucket\. Mend"):
        looking.list_namespaces()


def test_keys_come_from_the_environment_where_none_are_given(
    s3: S3Server, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    settings = {name: value for name, value in s3.settings().items() if "key" not in name}
    io = SchemeIO(s3_settings(settings))
    io.create(f"s3://{bucket}/a", b"x")
    assert SECRET.encode() not in pickle.dumps(io)
    assert pickle.loads(pickle.dumps(io)).read(f"s3://{bucket}/a") == b"x"


def test_keys_are_not_in_the_text_of_the_settings(s3: S3Server) -> None:
    assert SECRET not in repr(s3_settings(s3.settings()))


def test_a_credential_that_ends_is_renewed_while_files_are_written(s3: S3Server, bucket: str) -> None:
    seen = []

    def noted(server: Application, request: dict[str, Any], respond: Any) -> Answer:
        seen.append(request.get("HTTP_X_AMZ_SECURITY_TOKEN"))
        return server(request, respond)

    s3.door = noted
    numbers = iter(range(1, 100))

    def renew() -> S3Credential:
        ends = datetime.now(timezone.utc) + timedelta(seconds=31)
        return S3Credential(KEY, SECRET, f"token{next(numbers)}", ends)

    first = S3Credential(KEY, SECRET, "token0", datetime.now(timezone.utc) + timedelta(hours=1))
    ended = S3Credential(KEY, SECRET, "token0", datetime.now(timezone.utc) - timedelta(hours=1))
    for given, renewed in ((first, False), (ended, True)):
        seen.clear()
        settings = S3Settings(s3.endpoint, "us-east-1", True, given, renew)
        io = ObjectStoreIO(settings)
        for number in range(3):
            io.create(f"s3://{bucket}/{renewed}{number}", b"x")
        assert (seen[-1] != "token0") == renewed, seen
