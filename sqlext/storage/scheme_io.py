"""Files in all supported stores, selected by the location's scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO

from sqlext.storage.allowed_locations import AllowedLocations
from sqlext.storage.file_io import FileStatus, FolderIO, LocalFileIO
from sqlext.storage.location import is_object
from sqlext.storage.object_store import ObjectStoreIO, S3Credential, S3Settings


class SchemeIO:
    """Local files, and S3 objects by `settings`; can be pickled and sent to executors.

    Every method raises as `allowed` for a location that it excludes.
    """

    def __init__(self, settings: S3Settings | None = None, allowed: AllowedLocations | None = None) -> None:
        self.local = LocalFileIO()
        self.objects = ObjectStoreIO(settings or S3Settings())
        self.allowed = allowed or AllowedLocations()
        self._around: Callable[[FolderIO], FolderIO] | None = None

    @contextmanager
    def seen_through(self, around: Callable[[FolderIO], FolderIO]) -> Iterator[None]:
        """While it lasts, each call goes to `around` of the store that has the location; in copies that are pickled
        meanwhile for ever."""
        before, self._around = self._around, around
        try:
            yield
        finally:
            self._around = before

    @property
    def takes_threads(self) -> bool:
        return self._around is None

    def require_readable(self, location: str) -> None:
        self.allowed.require_readable(location)

    def _to_read(self, location: str) -> FolderIO:
        self.allowed.require_readable(location)
        return self._seen(self._of(location))

    def _to_write(self, location: str) -> FolderIO:
        self.allowed.require_writable(location)
        return self._seen(self._of(location))

    def _seen(self, store: FolderIO) -> FolderIO:
        return store if self._around is None else self._around(store)

    def _of(self, location: str) -> FolderIO:
        return self.objects if is_object(location) else self.local

    def read(self, location: str) -> bytes:
        return self._to_read(location).read(location)

    def size(self, location: str) -> int:
        return self._to_read(location).size(location)

    def exists(self, location: str) -> bool:
        return self._to_read(location).exists(location)

    def create(
        self, location: str, data: bytes, *, make_folders: bool = True, confirm: Callable[[], None] | None = None
    ) -> None:
        self._to_write(location).create(location, data, make_folders=make_folders, confirm=confirm)

    def replace(self, location: str, data: bytes, *, confirm: Callable[[], None] | None = None) -> None:
        self._to_write(location).replace(location, data, confirm=confirm)

    def open_output(self, location: str) -> BinaryIO:
        return self._to_write(location).open_output(location)

    def open_input(self, location: str) -> BinaryIO:
        return self._to_read(location).open_input(location)

    def delete(self, location: str, *, confirm: Callable[[], None] | None = None) -> None:
        self._to_write(location).delete(location, confirm=confirm)

    def list(self, prefix: str) -> Iterator[FileStatus]:
        return self._to_read(prefix).list(prefix)

    def folder_exists(self, location: str) -> bool:
        return self._to_read(location).folder_exists(location)

    def create_folder(self, location: str) -> None:
        self._to_write(location).create_folder(location)

    def list_folders(self, location: str) -> tuple[str, ...]:
        return self._to_read(location).list_folders(location)

    def delete_folder(self, location: str) -> None:
        self._to_write(location).delete_folder(location)

    def delete_empty_folder(self, location: str) -> bool:
        return self._to_write(location).delete_empty_folder(location)


def s3_settings(options: Mapping[str, str]) -> S3Settings:
    """The S3 settings in a catalog's options, by Iceberg's names."""
    key, secret = options.get("s3.access-key-id"), options.get("s3.secret-access-key")
    path_style = options.get("s3.path-style-access")
    return S3Settings(
        endpoint=options.get("s3.endpoint"),
        region=options.get("client.region") or options.get("s3.region"),
        path_style=None if path_style is None else path_style.strip().lower() == "true",
        credential=S3Credential(key, secret, options.get("s3.session-token")) if key and secret else None,
    )
