"""Files in memory with folders and create-if-absent: what all processes of a simulation share."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol

from sqlext.storage.file_io import FileStatus
from sqlext.storage.location import to_local_path


class Watcher(Protocol):
    """Is told of every change of the store, after it."""

    def created(self, path: str, data: bytes, by: Any) -> None: ...

    def deleted(self, path: str, by: Any) -> None: ...

    def dropped(self, folder: str, by: Any) -> None: ...


class Store:
    """Implements `FolderIO` but for `by`, who does it, on what changes files."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.makers: dict[str, Any] = {}
        self.folders: dict[str, int] = {"/": 0}
        self._made_folders = itertools.count(1)
        self.watcher: Watcher | None = None

    def read(self, location: str) -> bytes:
        path = to_local_path(location)
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def size(self, location: str) -> int:
        return len(self.read(location))

    def exists(self, location: str) -> bool:
        return to_local_path(location) in self.files

    def folder_for(self, location: str, make_folders: bool) -> int:
        """The identity of the folder that a new file goes to."""
        path = to_local_path(location)
        folder = os.path.dirname(path)
        if folder not in self.folders:
            if not make_folders:
                raise FileNotFoundError(path)
            self._add_folder(folder)
        return self.folders[folder]

    def create(self, location: str, data: bytes, *, folder: int, by: Any) -> None:
        """Makes a file in the folder of that identity."""
        path = to_local_path(location)
        if self.folders.get(os.path.dirname(path)) != folder:
            raise FileNotFoundError(path)
        if path in self.files:
            raise FileExistsError(path)
        self.files[path] = data
        self.makers[path] = by
        if self.watcher is not None:
            self.watcher.created(path, data, by)

    def replace(self, location: str, data: bytes, *, folder: int) -> None:
        path = to_local_path(location)
        if self.folders.get(os.path.dirname(path)) != folder:
            raise FileNotFoundError(path)
        self.files[path] = data

    def open_input(self, location: str) -> BinaryIO:
        return io.BytesIO(self.read(location))

    def delete(self, location: str, *, folder: int | None = None, by: Any) -> None:
        """Of the folder of that identity, if one is given."""
        path = to_local_path(location)
        if folder is not None and self.folders.get(os.path.dirname(path)) != folder:
            return
        if self.files.pop(path, None) is not None and self.watcher is not None:
            self.watcher.deleted(path, by)

    def list(self, prefix: str) -> Iterator[FileStatus]:
        folder = to_local_path(prefix).rstrip("/") + "/"
        found = [path for path in self.files if path.startswith(folder)]
        return iter([FileStatus("file://" + path, len(self.files[path]), 0) for path in sorted(found)])

    def folder_exists(self, location: str) -> bool:
        return to_local_path(location).rstrip("/") in self.folders

    def create_folder(self, location: str) -> None:
        path = to_local_path(location).rstrip("/")
        if path in self.folders or path in self.files:
            raise FileExistsError(path)
        self._add_folder(path)

    def list_folders(self, location: str) -> tuple[str, ...]:
        path = to_local_path(location).rstrip("/")
        if path not in self.folders:
            raise FileNotFoundError(path)
        return tuple(sorted(os.path.basename(folder) for folder in self.folders if os.path.dirname(folder) == path))

    def delete_folder(self, location: str, *, by: Any) -> None:
        path = to_local_path(location).rstrip("/")
        if path not in self.folders:
            raise FileNotFoundError(path)
        self.files = {name: data for name, data in self.files.items() if not name.startswith(path + "/")}
        self.folders = {
            name: id for name, id in self.folders.items() if name != path and not name.startswith(path + "/")
        }
        if self.watcher is not None:
            self.watcher.dropped(path, by)

    def delete_empty_folder(self, location: str) -> bool:
        path = to_local_path(location).rstrip("/")
        inside = [name for name in self.folders if name == path or name.startswith(path + "/")]
        for folder in sorted(inside, key=len, reverse=True):
            if self._is_empty(folder):
                del self.folders[folder]
        return path not in self.folders

    def _is_empty(self, folder: str) -> bool:
        below = folder + "/"
        return not any(name.startswith(below) for name in self.files) and not any(
            name.startswith(below) for name in self.folders
        )

    def _add_folder(self, path: str) -> None:
        while path not in self.folders:
            self.folders[path] = next(self._made_folders)
            path = os.path.dirname(path)
