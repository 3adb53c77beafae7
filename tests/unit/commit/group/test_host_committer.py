"""Committers as of several processes: one takes the place, the others hand it their changes, and go on without it."""

from __future__ import annotations

import os
import random
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from small_tables import (
    ORDERS,
    InterruptedIO,
    Writer,
    data_file,
    equality_deletes,
    files_below,
    ids_read_by_pyiceberg,
    rows_of,
    serves,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.catalog_settings import GroupCommit, group_commit
from sqlext.commit.action import MAIN, Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.group.commit_request import CommitRequest, decode_request, encode_request
from sqlext.commit.group.group import TOKENS_PROPERTY, Member, landed_before
from sqlext.commit.group.host_committer import HostCommitter
from sqlext.commit.group.host_socket import MOST_BYTES, PROTOCOL, MeetingPlace, receive, send
from sqlext.errors import AnalysisError, CommitStateUnknown, NotFoundError, StorageError, ValidationConflict
from sqlext.storage.file_io import LocalFileIO


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Host:
    """The machine: `process` is one more of the processes that commit to the warehouse."""

    def __init__(self, warehouse: Path, runtime: Path) -> None:
        self.warehouse = warehouse
        self.runtime = runtime
        self.processes: list[HostCommitter] = []

    def place(self, settings: str = "settings") -> MeetingPlace:
        return MeetingPlace.of(settings, {"XDG_RUNTIME_DIR": str(self.runtime)})

    def process(
        self, io: LocalFileIO | None = None, seed: int = 0, clock: Callable[[], int] = _now_ms
    ) -> HostCommitter:
        rng = random.Random(seed or len(self.processes))
        one = HostCommitter(warehouse_catalog(self.warehouse, io), self.place, clock=clock, rng=rng)
        self.processes.append(one)
        return one


@pytest.fixture
def host(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    runtime = tmp_path_factory.mktemp("r")
    host = Host(tmp_path, runtime)
    yield host
    for process in host.processes:
        process.close()


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path), seed=1)
    writer.create()
    return writer


def _append(table: LoadedTable, *ids: int) -> AppendFiles:
    return AppendFiles((data_file(table.metadata, ids),))


def _upsert(table: LoadedTable, *ids: int) -> RowDelta:
    head = table.metadata.current_snapshot_id
    return RowDelta((data_file(table.metadata, ids),), (equality_deletes(table.metadata, ids),), base_snapshot_id=head)


def _tokens(table: LoadedTable) -> list[str]:
    return [token for one in table.metadata.snapshots for token in one.summary.get(TOKENS_PROPERTY, "").split()]


def test_one_process_commits_for_all(host: Host, writer: Writer) -> None:
    processes = [host.process() for _ in range(4)]
    base = writer.load()
    processes[0].commit(ORDERS, _append(base, 0), base=base)

    def write(number: int) -> None:
        for turn in range(5):
            table = writer.catalog.load_table(ORDERS)
            processes[number].commit(ORDERS, _append(table, 1 + number * 5 + turn), base=table)
            outcome = processes[number].commit(ORDERS, _upsert(table, 100 + number), base=table)
            assert outcome.snapshot is not None
            assert outcome.table.metadata.snapshot(outcome.snapshot.snapshot_id) == outcome.snapshot

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))

    assert [serves(one) for one in processes] == [True, False, False, False]
    table = writer.load()
    assert sorted(row["id"] for row in rows_of(table)) == [*range(21), *range(100, 104)]
    # Ten of each other process; its own changes nobody has to find.
    assert len(_tokens(table)) == len(set(_tokens(table))) == 30


def test_each_gets_its_own_verdict(host: Host, writer: Writer) -> None:
    base = writer.append(1).table
    serving, other = host.process(), host.process()
    serving.commit(ORDERS, _append(base, 2), base=base)
    missing = OverwriteFiles((), (data_file(base.metadata, [5]),), base_snapshot_id=base.metadata.current_snapshot_id)
    with pytest.raises(ValidationConflict):
        other.commit(ORDERS, missing, base=base)
    writer.catalog.drop_table(ORDERS, purge=False)
    with pytest.raises(NotFoundError):
        other.commit(ORDERS, _append(base, 3), base=base)
    assert not files_below(host.warehouse)


def test_another_process_takes_over(host: Host, writer: Writer) -> None:
    first, second, third = (host.process() for _ in range(3))
    for number, process in enumerate((first, second, third)):
        base = writer.load()
        process.commit(ORDERS, _append(base, number), base=base)
        assert serves(process) == (number == 0)
    first.close()
    for number, process in enumerate((third, second), 3):
        base = writer.load()
        process.commit(ORDERS, _append(base, number), base=base)
    assert [serves(one) for one in (first, second, third)] == [False, False, True]
    assert ids_read_by_pyiceberg(writer.load()) == [0, 1, 2, 3, 4]


class Dying:
    """In the place of the process that commits: it commits what it is brought, or does not, and says nothing."""

    def __init__(self, host: Host, committer: HostCommitter | None) -> None:
        self._place = host.place()
        held = self._place.take()
        assert held is not None
        self._held = held
        self._listener = self._place.listen()
        self._committer = committer
        self.thread = threading.Thread(target=self._die)
        self.thread.start()

    def _die(self) -> None:
        connection, _ = self._listener.accept()
        connection.sendall(PROTOCOL)
        assert receive(connection) == self._place.token
        message = receive(connection)
        if self._committer is not None:
            request = decode_request(message)
            base = self._committer._catalog.load_table(request.identifier)
            new_id = self._committer._own.new_id()
            member = Member(request.action, base, request.destination, new_id, request.token)
            with suppress(ValidationConflict):
                self._committer._own.commit_member(request.identifier, member)
        self._listener.close()
        os.close(self._held)
        connection.close()


@pytest.mark.parametrize("lands", [False, True])
@pytest.mark.parametrize("make", [_append, _upsert])
def test_a_process_that_dies_before_it_answers(
    host: Host, writer: Writer, lands: bool, make: Callable[[LoadedTable, int], Action]
) -> None:
    base = writer.append(1).table
    dying = Dying(host, host.process(seed=99) if lands else None)
    client = host.process(seed=7)
    outcome = client.commit(ORDERS, make(base, 2), base=base)
    dying.thread.join()
    assert serves(client)
    assert sorted(row["id"] for row in rows_of(writer.load())) == [1, 2]
    assert len(writer.load().metadata.snapshots) == 2
    assert outcome.snapshot == writer.load().metadata.current_snapshot()


def test_a_process_that_refuses_and_dies(host: Host, writer: Writer) -> None:
    base = writer.append(1).table
    old = data_file(base.metadata, [5])
    dying = Dying(host, host.process(seed=99))
    rows = data_file(base.metadata, [2])
    refused = OverwriteFiles((rows,), (old,), base_snapshot_id=base.metadata.current_snapshot_id)
    with pytest.raises(ValidationConflict, match=r"has refused it"):
        host.process(seed=7).commit(ORDERS, refused, base=base)
    dying.thread.join()
    assert ids_read_by_pyiceberg(writer.load()) == [1]


def test_nobody_knows_what_landed_once_its_snapshot_may_have_expired(writer: Writer) -> None:
    base = writer.append(1).table
    member = Member(_append(base, 2), base, MAIN, "id", "token", may_have_landed=True)
    later = writer.append(2).table.metadata
    assert landed_before(member, later, "t") is None
    with pytest.raises(CommitStateUnknown):
        landed_before(member, replace(later, snapshots=later.snapshots[:1]), "t")
    with pytest.raises(CommitStateUnknown):
        landed_before(member, replace(later, table_uuid="another"), "t")


def test_who_is_interrupted_takes_the_change_back(host: Host, writer: Writer) -> None:
    reached, go = threading.Event(), threading.Event()

    def hold(location: str, create: Callable[[], None]) -> None:
        if location.endswith(".metadata.json") and not reached.is_set():
            reached.set()
            assert go.wait(30)
        create()

    serving, base = host.process(InterruptedIO(hold)), writer.load()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(serving.commit, ORDERS, _append(base, 0), base=base)
        assert reached.wait(30)
        place = host.place()
        connection = place.connect()
        request = CommitRequest(
            ORDERS, base.metadata_location, base.metadata.table_uuid, _append(base, 1), MAIN, "token"
        )
        message = encode_request(request)
        assert message is not None
        send(connection, place.token)
        send(connection, message)
        for _ in range(3000):
            if serving._own._tables[ORDERS].waiting:
                break
            time.sleep(0.01)
        connection.close()
        for _ in range(3000):
            if not serving._own._tables[ORDERS].waiting:
                break
            time.sleep(0.01)
        go.set()
        first.result(30)
    assert ids_read_by_pyiceberg(writer.load()) == [0]


def test_nothing_without_the_token_is_heard(host: Host, writer: Writer) -> None:
    serving, base = host.process(), writer.load()
    serving.commit(ORDERS, _append(base, 0), base=base)
    place = host.place()
    for said in (b"wrong", b"", b"x" * len(place.token)):
        connection = place.connect()
        send(connection, said)
        connection.settimeout(30)
        assert connection.recv(1) == b""
        connection.close()
    connection = place.connect()
    send(connection, place.token)
    connection.sendall((MOST_BYTES + 1).to_bytes(4, "big"))
    connection.settimeout(30)
    assert connection.recv(1) == b""
    connection = place.connect()
    send(connection, place.token)
    send(connection, b"\x80\x04cos\nsystem\n.")
    assert b"not-taken" in receive(connection)
    connection.close()
    other = host.process()
    other.commit(ORDERS, _append(base, 1), base=base)
    assert ids_read_by_pyiceberg(writer.load()) == [0, 1]


def test_a_process_that_hangs_is_left_alone(host: Host, writer: Writer) -> None:
    place = host.place()
    held = place.take()
    assert held is not None
    listener = place.listen()
    base = writer.load()
    hasty = host.process(clock=lambda: time.time_ns() // 10_000)
    hasty.commit(ORDERS, _append(base, 1), base=base)
    assert ids_read_by_pyiceberg(writer.load()) == [1]
    listener.close()
    os.close(held)


def test_the_folder_is_the_users_alone(tmp_path: Path) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir()
    environment = {"XDG_RUNTIME_DIR": str(runtime)}
    place = MeetingPlace.of("a", environment)
    folder = place.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "token").stat().st_mode) == 0o600
    assert MeetingPlace.of("a", environment) == place
    assert MeetingPlace.of("b", environment).path != place.path
    assert "a" * 8 not in str(MeetingPlace.of("a" * 8, environment).path)
    assert repr(place.token) not in repr(place)
    listener = place.listen()
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o600
    listener.close()
    folder.chmod(0o755)
    with pytest.raises(StorageError, match="not a folder of this user alone"):
        MeetingPlace.of("a", environment)
    folder.chmod(0o700)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="not a folder of this user alone"):
        MeetingPlace.of("a", environment)
    (runtime / ("x" * 100)).mkdir()
    with pytest.raises(StorageError, match="too long"):
        MeetingPlace.of("a", {"XDG_RUNTIME_DIR": str(runtime / ("x" * 100))})


@pytest.mark.parametrize("kind", ["open to others", "a file", "a link"])
def test_a_process_commits_alone_where_the_folder_is_not_to_be_trusted(host: Host, writer: Writer, kind: str) -> None:
    folder = host.runtime / "sqlext"
    if kind == "a file":
        folder.write_text("another user's")
    elif kind == "a link":
        (host.runtime / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(host.runtime / "elsewhere")
    else:
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)
    process = host.process()
    for number in (1, 2):
        base = writer.load()
        process.commit(ORDERS, _append(base, number), base=base)
    assert ids_read_by_pyiceberg(writer.load()) == [1, 2]
    assert not serves(process)
    assert not (host.runtime / "elsewhere" / "token").exists()


def test_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options = {"warehouse": "w", "group-commit": "host", "secret": "xyz"}
    first = group_commit("lake", options)
    assert first is not None
    assert first.settings is not None
    assert "xyz" not in repr(first)
    assert group_commit("lake", options) == first
    assert group_commit("other", options) != first
    monkeypatch.chdir(tmp_path)
    assert group_commit("lake", options) != first
    absolute = group_commit("lake", {**options, "warehouse": "/w"})
    monkeypatch.chdir("/")
    assert group_commit("lake", {**options, "warehouse": "/w"}) == absolute
    monkeypatch.delattr(socket, "AF_UNIX")
    with pytest.raises(AnalysisError, match="group-commit"):
        group_commit("lake", options)


def test_the_size_of_small_files() -> None:
    size = "group-commit.min-file-size-bytes"
    assert group_commit("lake", {"group-commit": "process", size: "1048576"}) == GroupCommit(None, 1 << 20)
    assert group_commit("lake", {"group-commit": "process"}) == GroupCommit(None, 0)
    assert group_commit("lake", {size: "0"}) is None
    for options in ({size: "1"}, {size: "1", "group-commit": "none"}, {size: "1m", "group-commit": "host"}):
        with pytest.raises(AnalysisError, match=size):
            group_commit("lake", options)
