"""A store that records the files which this process creates in it, so that they can be deleted after a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from sqlext.storage.file_io import FileIO, FileStatus


class CreatedFiles:
    """A `FileIO` over another one that records what it creates.

    Sent to an executor it becomes that other one; then killed tasks may leave files that this process does not know.
    """

    def __init__(self, io: FileIO) -> None:
        self._io = io
        self._locations: list[str] = []
        self._is_shared = False

    @property
    def takes_threads(self) -> bool:
        return self._io.takes_threads

    @property
    def locations(self) -> tuple[str, ...] | None:
        """Locations where files were, or may have been, created; None if executors may have created others."""
        return None if self._is_shared else tuple(self._locations)

    def __reduce__(self) -> tuple[Any, ...]:
        self._is_shared = True
        return _itself, (self._io,)

    def create(
        self, location: str, data: bytes, *, make_folders: bool = True, confirm: Callable[[], None] | None = None
    ) -> None:
        with self._made(location):
            self._io.create(location, data, make_folders=make_folders, confirm=confirm)

    def open_output(self, location: str) -> BinaryIO:
        with self._made(location):
            return self._io.open_output(location)

    @contextmanager
    def _made(self, location: str) -> Iterator[None]:
        """Records `location` while it is created: after any error but FileExistsError the file may exist."""
        self._locations.append(location)
        try:
            yield
        except FileExistsError:
            self._locations.remove(location)
            raise

    def read(self, location: str) -> bytes:
        return self._io.read(location)

    def size(self, location: str) -> int:
        return self._io.size(location)

    def exists(self, location: str) -> bool:
        return self._io.exists(location)

    def replace(self, location: str, data: bytes, *, confirm: Callable[[], None] | None = None) -> None:
        self._io.replace(location, data, confirm=confirm)

    def open_input(self, location: str) -> BinaryIO:
        return self._io.open_input(location)

    def delete(self, location: str, *, confirm: Callable[[], None] | None = None) -> None:
        self._io.delete(location, confirm=confirm)

    def list(self, prefix: str) -> Iterator[FileStatus]:
        return self._io.list(prefix)

    def require_readable(self, location: str) -> None:
        self._io.require_readable(location)


def _itself(io: FileIO) -> FileIO:
    return io
