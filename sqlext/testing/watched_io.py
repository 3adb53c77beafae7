"""A store where something stands between each call and its effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeAlias, cast

from sqlext.storage.file_io import FileStatus, FolderIO

Around: TypeAlias = Callable[[str, str, Callable[[], Any]], Any]
"""Called with the name of an operation, the location and the effect, in place of the effect. What it returns or raises
is the answer of the store. Streams are opened by the operations "create" and "read"."""


class WatchedIO:
    """`FolderIO` over another one. It can be sent to executors if `around` can."""

    takes_threads = False

    def __init__(self, io: FolderIO, around: Around) -> None:
        self._io = io
        self._around = around

    def read(self, location: str) -> bytes:
        return cast(bytes, self._around("read", location, lambda: self._io.read(location)))

    def size(self, location: str) -> int:
        return cast(int, self._around("size", location, lambda: self._io.size(location)))

    def exists(self, location: str) -> bool:
        return cast(bool, self._around("exists", location, lambda: self._io.exists(location)))

    def create(
        self, location: str, data: bytes, *, make_folders: bool = True, confirm: Callable[[], None] | None = None
    ) -> None:
        self._around(
            "create",
            location,
            lambda: self._io.create(location, data, make_folders=make_folders, confirm=confirm),
        )

    def replace(self, location: str, data: bytes, *, confirm: Callable[[], None] | None = None) -> None:
        self._around("replace", location, lambda: self._io.replace(location, data, confirm=confirm))

    def open_output(self, location: str) -> BinaryIO:
        return cast(BinaryIO, self._around("create", location, lambda: self._io.open_output(location)))

    def open_input(self, location: str) -> BinaryIO:
        return cast(BinaryIO, self._around("read", location, lambda: self._io.open_input(location)))

    def delete(self, location: str, *, confirm: Callable[[], None] | None = None) -> None:
        self._around("delete", location, lambda: self._io.delete(location, confirm=confirm))

    def list(self, prefix: str) -> Iterator[FileStatus]:
        return cast("Iterator[FileStatus]", self._around("list", prefix, lambda: self._io.list(prefix)))

    def require_readable(self, location: str) -> None:
        self._io.require_readable(location)

    def folder_exists(self, location: str) -> bool:
        return cast(bool, self._around("folder_exists", location, lambda: self._io.folder_exists(location)))

    def create_folder(self, location: str) -> None:
        self._around("create_folder", location, lambda: self._io.create_folder(location))

    def list_folders(self, location: str) -> tuple[str, ...]:
        return cast("tuple[str, ...]", self._around("list_folders", location, lambda: self._io.list_folders(location)))

    def delete_folder(self, location: str) -> None:
        self._around("delete_folder", location, lambda: self._io.delete_folder(location))

    def delete_empty_folder(self, location: str) -> bool:
        return cast(bool, self._around("delete_empty_folder", location, lambda: self._io.delete_empty_folder(location)))
