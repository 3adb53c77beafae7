"""Files by location: the interface that all reads and writes use, and its local implementation.

Implementations raise FileNotFoundError for a missing file, FileExistsError for one that must not exist, and
StorageError if the store refused and nothing was written. Any other exception of `create` means that the store did not
answer, so that the file may exist or not.
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

# Files with this prefix are not part of any table; a killed process may leave some as orphans.
_TEMPORARY_PREFIX = ".sqlext-"

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OPEN_ATTEMPTS = 5
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file of a listing; `modified_ms` is in milliseconds since 1970."""

    path: str
    size: int
    modified_ms: int


class FileIO(Protocol):
    """Whole files by location, as object stores have them."""

    @property
    def takes_threads(self) -> bool:
        """Whether several threads may ask at a time. They may not where the order of calls counts, as in a
        simulation."""

    def read(self, location: str) -> bytes:
        """All bytes of the file."""

    def size(self, location: str) -> int:
        """Length in bytes."""

    def exists(self, location: str) -> bool:
        """Whether the file exists."""

    def create(
        self, location: str, data: bytes, *, make_folders: bool = True, confirm: Callable[[], None] | None = None
    ) -> None:
        """Creates a file, atomically and durably, or raises FileExistsError; one of several concurrent callers
        succeeds.

        A crash never leaves a part of the file under its name. Without `make_folders` a missing folder raises
        FileNotFoundError.

        `confirm` is called last; if it raises, nothing is written. With real folders, the file is created only in the
        folder that existed during `confirm`; if that has been removed or replaced, FileNotFoundError is raised.
        """

    def replace(self, location: str, data: bytes, *, confirm: Callable[[], None] | None = None) -> None:
        """Writes the file atomically, whether it exists or not: readers see the old or the new bytes.

        A replacement is not durable: after a power failure the old bytes may be back, or the file missing.

        Raises FileNotFoundError if the folder is missing, which may be that of a dropped table. `confirm` is as in
        `create`.
        """

    def open_output(self, location: str) -> BinaryIO:
        """An output stream for a new file, durable after `close`. Raises FileExistsError if the name is taken."""

    def open_input(self, location: str) -> BinaryIO:
        """A seekable input stream."""

    def delete(self, location: str, *, confirm: Callable[[], None] | None = None) -> None:
        """Deletes the file; a missing one is no error.

        `confirm` is called last; if it raises, nothing is deleted, and errors other than FileNotFoundError pass. With
        real folders, the file is deleted only in the folder that existed during `confirm`.
        """

    def list(self, prefix: str) -> Iterator[FileStatus]:
        """All files below a folder, unordered; none if the folder is missing."""

    def require_readable(self, location: str) -> None:
        """Raises as `read` for a location that may not be read, whether the file exists or not."""


class FolderIO(FileIO, Protocol):
    """A store with folders, as a warehouse of plain folders needs it."""

    def folder_exists(self, location: str) -> bool:
        """Whether the folder exists."""

    def create_folder(self, location: str) -> None:
        """Creates the folder and its parents. Raises FileExistsError if it exists."""

    def list_folders(self, location: str) -> tuple[str, ...]:
        """Names of the folders directly in a folder, sorted, without hidden ones."""

    def delete_folder(self, location: str) -> None:
        """Deletes the folder with its contents; the name disappears atomically, before the files."""

    def delete_empty_folder(self, location: str) -> bool:
        """Deletes a folder without files at any depth; False if it has one."""


class LocalFileIO:
    """Files of this machine, or of a mount with hard links."""

    takes_threads = True

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
                # Removing the folder removes the temporary file, so that the link fails.
                confirm()
            _link(temporary, path, location)
        finally:
            with suppress(OSError):
                os.unlink(temporary)
        # The file exists now, so an error is no refusal and passes unchanged.
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
        # The folder's name is gone; files that cannot be deleted remain as orphans.
        with suppress(OSError):
            _sync_folder(parent)
        shutil.rmtree(hidden, ignore_errors=True)

    def move_folder(self, location: str, to: str) -> None:
        """Moves a folder on one disk, atomically. Raises FileExistsError if the target exists."""
        path, new_path = to_local_path(location).rstrip("/"), to_local_path(to).rstrip("/")
        with _translated("Moving", location):
            os.makedirs(os.path.dirname(new_path), exist_ok=True)
            if os.path.isdir(new_path):
                # An empty folder may remain from a failed creation.
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
    """An output stream for a new file; `close` syncs it to disk."""

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
    """Turns operating system errors into StorageError, except FileNotFoundError and FileExistsError."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError("STORAGE_FAILURE", operation=operation, path=location, reason=reason) from error


def _write_temporary(path: str, data: bytes, make_folders: bool, *, durable: bool = True) -> str:
    """Writes a hidden file beside `path`, synced to disk if `durable`; leaves nothing after a failure."""
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
    """A descriptor of a new file; `make_folders` creates its folder."""
    for _ in range(_OPEN_ATTEMPTS if make_folders else 0):
        # Another process may remove the empty folder before the file is created.
        with suppress(FileNotFoundError):
            return os.open(path, _NEW_FILE, 0o666)
        os.makedirs(os.path.dirname(path), exist_ok=True)
    return os.open(path, _NEW_FILE, 0o666)


def _write_all(descriptor: int, view: memoryview) -> None:
    while len(view):
        view = view[os.write(descriptor, view) :]


def _unlink_confirmed(path: str, confirm: Callable[[], None]) -> None:
    """Deletes the file in the folder that had the path before `confirm`, even if another one has it afterwards."""
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        confirm()
        os.unlink(name, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _link(temporary: str, path: str, location: str) -> None:
    """Links the finished file to its name. Raises FileExistsError if that is taken."""
    try:
        os.link(temporary, path)
    except OSError as error:
        # A network file system may repeat a request after a lost answer, and then report its own link as an obstacle.
        # The link count tells.
        if os.stat(temporary).st_nlink > 1:
            return
        if isinstance(error, (FileExistsError, FileNotFoundError)):
            raise
        if error.errno in _NO_HARD_LINKS:
            # A file created and filled under its final name would be visible half written, and stay so after a crash; a
            # truncated metadata file makes the table unreadable.
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
