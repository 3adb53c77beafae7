"""A store that knows the files which this process has made in it, for whoever has to remove them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from sqlext.storage.file_io import FileIO, FileStatus


class CreatedFiles:
    """A `FileIO` over another one.

    It goes to an executor as that other one, and from then on there may be files that this process does not know of:
    those of a task that was killed.
    """

    def __init__(self, io: FileIO) -> None:
        self._io = io
        self._locations: list[str] = []
        self._is_shared = False

    @property
    def locations(self) -> tuple[str, ...] | None:
        """Where files were made, or may have been; None where others may have made some too."""
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
        """Around what makes a file, which may be there whatever the store answers, unless the name was taken."""
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
