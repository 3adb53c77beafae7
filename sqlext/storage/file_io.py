"""Files by location: the interface that all of sqlext reads and writes through, and its local form.

Errors of every implementation: `FileNotFoundError` for what is not there, `FileExistsError` for what must not be
there, `StorageError` when the store refused and nothing was written. Any other exception of `create` means that the
store gave no answer: the file may or may not have come into being.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO, Protocol, cast

from sqlext.errors import StorageError, UnsupportedError
from sqlext.storage.location import to_local_path, to_location

# Such files are never part of a table: what a killed process leaves of them is litter that no reader looks at.
_TEMPORARY_PREFIX = ".sqlext-"

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OPEN_ATTEMPTS = 5
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file of a listing; `modified_ms` is milliseconds since the epoch."""

    path: str
    size: int
    modified_ms: int


class FileIO(Protocol):
    """Whole files by location, as an object store could offer them."""

    def read(self, location: str) -> bytes:
        """All bytes of the file."""

    def size(self, location: str) -> int:
        """Length in bytes."""

    def exists(self, location: str) -> bool:
        """Whether a file of that name is there."""

    def create(
        self, location: str, data: bytes, *, make_folders: bool = True, confirm: Callable[[], None] | None = None
    ) -> None:
        """Writes a new file, whole and durable, or raises `FileExistsError`; of several callers one wins.

        A crash never leaves a part of the file under its name. Without `make_folders`, a folder that is missing is a
        `FileNotFoundError`.

        `confirm` is called last, and its errors pass: nothing is written then. Where there are real folders the file
        comes into being only in the one that `confirm` has looked at; should it have been removed, or another one be
        in its place, that is a `FileNotFoundError` too.
        """

    def replace(self, location: str, data: bytes, *, confirm: Callable[[], None] | None = None) -> None:
        """Writes the file in one step, whether it was there or not: readers see the old or the new bytes.

        A loss of power may bring the old ones back, or leave none.

        A folder that is missing is a `FileNotFoundError`: it may be that of a table which was dropped. `confirm` is as
        in `create`.
        """

    def open_output(self, location: str) -> BinaryIO:
        """A sink for a new file, durable once `close` has returned; `FileExistsError` if the name is taken."""

    def open_input(self, location: str) -> BinaryIO:
        """A seekable source."""

    def delete(self, location: str, *, confirm: Callable[[], None] | None = None) -> None:
        """Removes the file; one that is not there is no error.

        `confirm` is called last, and its errors pass, but for that one. Where there are real folders, a file stays that
        is in another folder than the one that `confirm` has looked at.
        """

    def list(self, prefix: str) -> Iterator[FileStatus]:
        """Every file below a folder, in no order; none if the folder is not there."""

    def require_readable(self, location: str) -> None:
        """The error of `read` for a location that may not be read, whether there is a file or not."""


class FolderIO(FileIO, Protocol):
    """A store with real folders, which is what a warehouse of plain folders needs."""

    def folder_exists(self, location: str) -> bool:
        """Whether a folder of that name is there."""

    def create_folder(self, location: str) -> None:
        """Makes the folder and those above it; one that is there is a `FileExistsError`."""

    def list_folders(self, location: str) -> tuple[str, ...]:
        """Names of the folders directly in a folder, sorted, hidden ones left out."""

    def delete_folder(self, location: str) -> None:
        """Removes the folder with all it holds: the name is gone in one step, before the first file is."""

    def delete_empty_folder(self, location: str) -> bool:
        """Removes a folder in which there is no file at any depth; False if there was one."""


class LocalFileIO:
    """Files of this machine, or of a mount that has hard links."""

    def read(self, location: str) -> bytes:
        with _translated("Reading", location), open(to_local_path(location), "rb") as file:
            return file.read()

    def size(self, location: str) -> int:
        with _translated("Reading", location):
            return os.stat(to_local_path(location)).st_size

    def exists(self, location: str) -> bool:
        return os.path.isfile(to_local_path(location))

    def create(
        self, location: str, data: bytes, *, make_folders: bool = True, confirm: Callable[[], None] | None = None
    ) -> None:
        path = to_local_path(location)
        with _translated("Writing", location):
            temporary = _write_temporary(path, data, make_folders)
        try:
            if confirm is not None:
                # A folder that is removed takes the temporary file with it, so that there is nothing to link.
                confirm()
            _link(temporary, path, location)
        finally:
            with suppress(OSError):
                os.unlink(temporary)
        # From here on the file is there, so an error is no refusal: it passes as it is.
        _sync_folder(os.path.dirname(path))

    def replace(self, location: str, data: bytes, *, confirm: Callable[[], None] | None = None) -> None:
        path = to_local_path(location)
        with _translated("Writing", location):
            temporary = _write_temporary(path, data, make_folders=False, durable=False)
            try:
                if confirm is not None:
                    confirm()
                os.replace(temporary, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise

    def open_output(self, location: str) -> BinaryIO:
        path = to_local_path(location)
        with _translated("Writing", location):
            return cast(BinaryIO, _DurableOutput(path, location))

    def open_input(self, location: str) -> BinaryIO:
        with _translated("Reading", location):
            return open(to_local_path(location), "rb")

    def delete(self, location: str, *, confirm: Callable[[], None] | None = None) -> None:
        path = to_local_path(location)
        with _translated("Deleting", location), suppress(FileNotFoundError):
            if confirm is None:
                os.unlink(path)
            else:
                _unlink_confirmed(path, confirm)

    def list(self, prefix: str) -> Iterator[FileStatus]:
        for folder, _, names in os.walk(to_local_path(prefix)):
            for name in names:
                path = os.path.join(folder, name)
                with suppress(FileNotFoundError):
                    status = os.stat(path)
                    yield FileStatus(to_location(path), status.st_size, status.st_mtime_ns // 1_000_000)

    def require_readable(self, location: str) -> None:
        to_local_path(location)

    def folder_exists(self, location: str) -> bool:
        return os.path.isdir(to_local_path(location))

    def create_folder(self, location: str) -> None:
        path = to_local_path(location)
        with _translated("Creating", location):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.mkdir(path)
            _sync_folder(os.path.dirname(path))

    def list_folders(self, location: str) -> tuple[str, ...]:
        with _translated("Listing", location), os.scandir(to_local_path(location)) as entries:
            return tuple(sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")))

    def delete_folder(self, location: str) -> None:
        path = to_local_path(location)
        with _translated("Deleting", location):
            parent, name = os.path.split(path.rstrip("/"))
            hidden = os.path.join(parent, f"{_TEMPORARY_PREFIX}{uuid.uuid4().hex}-{name[:100]}")
            os.rename(path, hidden)
        # From here on the folder is gone: what cannot be deleted of it is litter that no reader looks at.
        with suppress(OSError):
            _sync_folder(parent)
        shutil.rmtree(hidden, ignore_errors=True)

    def move_folder(self, location: str, to: str) -> None:
        """Gives a folder another place on the same disk, in one step; `FileExistsError` when something is there."""
        path, new_path = to_local_path(location).rstrip("/"), to_local_path(to).rstrip("/")
        with _translated("Moving", location):
            os.makedirs(os.path.dirname(new_path), exist_ok=True)
            if os.path.isdir(new_path):
                # An empty folder may be what a creation that was given up has left.
                with suppress(OSError):
                    os.rmdir(new_path)
            if os.path.lexists(new_path):
                raise FileExistsError(new_path)
            os.rename(path, new_path)
            _sync_folder(os.path.dirname(new_path))
            _sync_folder(os.path.dirname(path))

    def delete_empty_folder(self, location: str) -> bool:
        path = to_local_path(location)
        with _translated("Deleting", location):
            for folder, _, _ in os.walk(path, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError as error:
                    if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                        return False
                    if error.errno != errno.ENOENT:
                        raise
        return True


class _DurableOutput(io.RawIOBase):
    """A new file that takes whole buffers and reaches the disk on `close`."""

    def __init__(self, path: str, location: str) -> None:
        super().__init__()
        self._location = location
        self._path = path
        self._position = 0
        self._descriptor = _open_new(path, make_folders=True)

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: object) -> int:
        view = memoryview(data).cast("B")  # type: ignore[arg-type]
        with _translated("Writing", self._location):
            _write_all(self._descriptor, view)
        self._position += len(view)
        return len(view)

    def close(self) -> None:
        if self.closed:
            return
        try:
            with _translated("Writing", self._location):
                os.fsync(self._descriptor)
                _sync_folder(os.path.dirname(self._path))
        finally:
            os.close(self._descriptor)
            super().close()


@contextmanager
def _translated(operation: str, location: str) -> Iterator[None]:
    """Turns a refusal of the operating system into `StorageError`; the two answers that callers act on pass."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError("STORAGE_FAILURE", operation=operation, path=location, reason=reason) from error


def _write_temporary(path: str, data: bytes, make_folders: bool, *, durable: bool = True) -> str:
    """Writes a hidden file beside `path`, to the disk if `durable`; leaves nothing when it fails."""
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f"{_TEMPORARY_PREFIX}{uuid.uuid4().hex}.tmp")
    descriptor = _open_new(temporary, make_folders)
    try:
        try:
            _write_all(descriptor, memoryview(data))
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _open_new(path: str, make_folders: bool) -> int:
    """A descriptor of a new file, in a folder that is made if it may be."""
    for _ in range(_OPEN_ATTEMPTS if make_folders else 0):
        # Another process may remove the folder as an empty one before there is a file in it.
        with suppress(FileNotFoundError):
            return os.open(path, _NEW_FILE, 0o666)
        os.makedirs(os.path.dirname(path), exist_ok=True)
    return os.open(path, _NEW_FILE, 0o666)


def _write_all(descriptor: int, view: memoryview) -> None:
    while len(view):
        view = view[os.write(descriptor, view) :]


def _unlink_confirmed(path: str, confirm: Callable[[], None]) -> None:
    """Whatever folder has the name by the time that `confirm` returns, the one that had it before is meant."""
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        confirm()
        os.unlink(name, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _link(temporary: str, path: str, location: str) -> None:
    """Gives the finished file its name, which must be free."""
    try:
        os.link(temporary, path)
    except OSError as error:
        # A network file system may repeat a request whose answer got lost, and then report the link it has made
        # itself as an obstacle. The number of names tells.
        if os.stat(temporary).st_nlink > 1:
            return
        if isinstance(error, (FileExistsError, FileNotFoundError)):
            raise
        if error.errno in _NO_HARD_LINKS:
            # Creating under the final name and filling it there would be visible half written, and a crash would
            # leave it so: a torn metadata file takes the table away.
            raise UnsupportedError(
                "CREATE_IF_ABSENT_UNSUPPORTED",
                path=location,
                reason="its file system has no hard links",
                way_out="Put the warehouse on a file system that has them.",
            ) from error
        raise StorageError(
            "STORAGE_FAILURE", operation="Writing", path=location, reason=error.strerror or error
        ) from error


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
