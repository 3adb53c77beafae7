from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.errors import StorageError, UnsupportedError
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import to_location


@pytest.fixture
def io() -> LocalFileIO:
    return LocalFileIO()


def test_create_makes_a_whole_file_once(tmp_path: Path, io: LocalFileIO) -> None:
    location = to_location(tmp_path / "a/b.json")
    io.create(location, b"one")
    with pytest.raises(FileExistsError):
        io.create(location, b"two")
    assert io.read(location) == b"one"
    assert io.size(location) == 3
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.json"]


def test_create_can_refuse_to_make_folders(tmp_path: Path, io: LocalFileIO) -> None:
    with pytest.raises(FileNotFoundError):
        io.create(to_location(tmp_path / "a/b.json"), b"one", make_folders=False)
    assert list(tmp_path.iterdir()) == []


def test_of_many_threads_one_creates(tmp_path: Path, io: LocalFileIO) -> None:
    won: list[int] = []
    start = threading.Barrier(16)

    def create(number: int) -> None:
        start.wait()
        try:
            io.create(to_location(tmp_path / "f"), str(number).encode())
        except FileExistsError:
            return
        won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(number).encode() for number in won] == [(tmp_path / "f").read_bytes()]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_leaves_nothing(tmp_path: Path, io: LocalFileIO, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError, match="No space left on device") as raised:
        io.create(to_location(tmp_path / "f"), b"data")
    assert raised.value.condition == "STORAGE_FAILURE"
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_was_made_but_reported_as_failed_counts(
    tmp_path: Path, io: LocalFileIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def answer_lost(source: str, target: str) -> None:
        link(source, target)
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(os, "link", answer_lost)
    io.create(to_location(tmp_path / "f"), b"data")
    assert (tmp_path / "f").read_bytes() == b"data"


def test_a_file_system_without_hard_links_is_refused(
    tmp_path: Path, io: LocalFileIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(UnsupportedError) as raised:
        io.create(to_location(tmp_path / "f"), b"data")
    assert raised.value.condition == "CREATE_IF_ABSENT_UNSUPPORTED"
    assert list(tmp_path.iterdir()) == []


def test_an_error_after_the_file_is_there_is_no_refusal(
    tmp_path: Path, io: LocalFileIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def fail_for_folders(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EIO, "Input/output error")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_for_folders)
    with pytest.raises(OSError, match="Input/output"):
        io.create(to_location(tmp_path / "f"), b"data")
    assert (tmp_path / "f").read_bytes() == b"data"


def test_a_delete_does_not_reach_a_folder_that_came_in_the_place_of_the_confirmed(
    tmp_path: Path, io: LocalFileIO
) -> None:
    old, new = tmp_path / "t/v1", tmp_path / "new/v1"
    for path in (old, new):
        io.create(to_location(path), path.parent.name.encode())

    def dropped_and_made_anew() -> None:
        (tmp_path / "t").rename(tmp_path / "dropped")
        (tmp_path / "new").rename(tmp_path / "t")

    io.delete(to_location(old), confirm=dropped_and_made_anew)
    assert old.read_bytes() == b"new"
    assert not (tmp_path / "dropped/v1").exists()


def test_a_delete_that_is_not_confirmed_deletes_nothing(tmp_path: Path, io: LocalFileIO) -> None:
    def refuse() -> None:
        raise ValueError("another's")

    io.create(to_location(tmp_path / "f"), b"")
    with pytest.raises(ValueError, match="another's"):
        io.delete(to_location(tmp_path / "f"), confirm=refuse)
    assert (tmp_path / "f").exists()
    io.delete(to_location(tmp_path / "gone/f"), confirm=refuse)


def test_replace_swaps_the_bytes(tmp_path: Path, io: LocalFileIO) -> None:
    location = to_location(tmp_path / "hint")
    io.replace(location, b"1")
    io.replace(location, b"2")
    assert io.read(location) == b"2"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_output_takes_parquet_and_never_overwrites(tmp_path: Path, io: LocalFileIO) -> None:
    location = to_location(tmp_path / "d/f.parquet")
    rows = pa.table({"a": list(range(1000))})
    with io.open_output(location) as sink:
        pq.write_table(rows, sink)
        size = sink.tell()
    assert io.size(location) == size
    with io.open_input(location) as source:
        assert pq.read_table(source).equals(rows)
    with pytest.raises(FileExistsError):
        io.open_output(location)


def test_an_output_says_when_the_disk_is_full(tmp_path: Path, io: LocalFileIO, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    sink = io.open_output(to_location(tmp_path / "f"))
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StorageError, match="No space left"):
        pq.write_table(pa.table({"a": [1]}), sink)
    sink.close()


def test_listing_is_recursive_and_deleting_forgives(tmp_path: Path, io: LocalFileIO) -> None:
    io.create(to_location(tmp_path / "a/b/c"), b"123")
    statuses = list(io.list(to_location(tmp_path)))
    assert [(status.path, status.size) for status in statuses] == [(to_location(tmp_path / "a/b/c"), 3)]
    assert abs(statuses[0].modified_ms - (tmp_path / "a/b/c").stat().st_mtime * 1000) < 2
    io.delete(statuses[0].path)
    io.delete(statuses[0].path)
    assert list(io.list(to_location(tmp_path / "none"))) == []


def test_a_folder_goes_in_one_step(tmp_path: Path, io: LocalFileIO, monkeypatch: pytest.MonkeyPatch) -> None:
    io.create(to_location(tmp_path / "t/a"), b"1")

    def killed(path: str, ignore_errors: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        io.delete_folder(to_location(tmp_path / "t"))
    assert not (tmp_path / "t").exists()
    assert io.list_folders(to_location(tmp_path)) == ()


def test_an_empty_folder_goes_and_a_full_one_stays(tmp_path: Path, io: LocalFileIO) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    assert io.delete_empty_folder(to_location(tmp_path / "a"))
    assert not (tmp_path / "a").exists()
    io.create(to_location(tmp_path / "a/b/f"), b"1")
    assert not io.delete_empty_folder(to_location(tmp_path / "a"))
    assert (tmp_path / "a/b/f").exists()
