"""Files of every kind of location that is known: each goes to the store that its scheme names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from sqlext.storage.file_io import FileStatus, FolderIO, LocalFileIO
from sqlext.storage.location import is_object
from sqlext.storage.object_store import ObjectStoreIO, S3Credential, S3Settings


class SchemeIO:
    """Local files, and objects in S3 by `settings`. It can be pickled, and goes to executors as it is."""

    def __init__(self, settings: S3Settings | None = None) -> None:
        self.local = LocalFileIO()
        self.objects = ObjectStoreIO(settings or S3Settings())

    def _of(self, location: str) -> FolderIO:
        return self.objects if is_object(location) else self.local

    def read(self, location: str) -> bytes:
        return self._of(location).read(location)

    def size(self, location: str) -> int:
        return self._of(location).size(location)

    def exists(self, location: str) -> bool:
        return self._of(location).exists(location)

    def create(
        self, location: str, data: bytes, *, make_folders: bool = True, confirm: Callable[[], None] | None = None
    ) -> None:
        self._of(location).create(location, data, make_folders=make_folders, confirm=confirm)

    def replace(self, location: str, data: bytes, *, confirm: Callable[[], None] | None = None) -> None:
        self._of(location).replace(location, data, confirm=confirm)

    def open_output(self, location: str) -> BinaryIO:
        return self._of(location).open_output(location)

    def open_input(self, location: str) -> BinaryIO:
        return self._of(location).open_input(location)

    def delete(self, location: str) -> None:
        self._of(location).delete(location)

    def list(self, prefix: str) -> Iterator[FileStatus]:
        return self._of(prefix).list(prefix)

    def folder_exists(self, location: str) -> bool:
        return self._of(location).folder_exists(location)

    def create_folder(self, location: str) -> None:
        self._of(location).create_folder(location)

    def list_folders(self, location: str) -> tuple[str, ...]:
        return self._of(location).list_folders(location)

    def delete_folder(self, location: str) -> None:
        self._of(location).delete_folder(location)

    def delete_empty_folder(self, location: str) -> bool:
        return self._of(location).delete_empty_folder(location)


def s3_settings(options: Mapping[str, str]) -> S3Settings:
    """The settings among a catalog's options, by the names that Iceberg gives them."""
    key, secret = options.get("s3.access-key-id"), options.get("s3.secret-access-key")
    path_style = options.get("s3.path-style-access")
    return S3Settings(
        endpoint=options.get("s3.endpoint"),
        region=options.get("client.region") or options.get("s3.region"),
        path_style=None if path_style is None else path_style.lower() == "true",
        credential=S3Credential(key, secret, options.get("s3.session-token")) if key and secret else None,
    )
