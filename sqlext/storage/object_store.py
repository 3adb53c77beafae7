"""Files in S3 and compatible stores, through obstore.

Stores have no folders: one exists while some object has it as a prefix. An empty one has an object with a hidden name,
which Hadoop's file system skips.
"""

from __future__ import annotations

import io
import re
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, BinaryIO, cast

from sqlext.errors import AnalysisError, StorageError, UnsupportedError
from sqlext.storage.file_io import FileStatus

_FOLDER_MARK = ".sqlext-folder"
_PROBE_PREFIX = ".sqlext-probe-"
_READ_BUFFER = 512 * 1024
_CREATE_ATTEMPTS = 4
_FIRST_WAIT_S = 0.1
_VERSION = re.compile(r"v([0-9]+)\.(?:gz\.)?metadata\.json")
_REASON_LENGTH = 1000
_NO_BUCKET, _THERE_IS_NO_BUCKET = "<Code>NoSuchBucket</Code>", "there is no such bucket"
# The address from which an Amazon machine gets its own credentials; obstore uses it last.
_ROLES_OF_THE_MACHINE = "169.254.169.254"


@dataclass(frozen=True, slots=True)
class S3Credential:
    """Credentials of a store; `expires_at` None: unlimited."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class S3Settings:
    """How a store is reached; None: from the environment, by AWS's names.

    `renew` gives a new credential shortly before the current one expires; it is called in this process only.
    """

    endpoint: str | None = None
    region: str | None = None
    path_style: bool | None = None
    credential: S3Credential | None = None
    renew: Callable[[], S3Credential] | None = None


class ObjectStoreIO:
    """Files in any bucket that `settings` give access to; can be pickled, without connections."""

    takes_threads = True

    def __init__(self, settings: S3Settings, sleep: Callable[[float], None] = time.sleep) -> None:
        self._settings = settings
        self._sleep = sleep
        self._stores: dict[tuple[str, bool], Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return ObjectStoreIO, (self._settings, self._sleep)

    # files

    def read(self, location: str) -> bytes:
        with _translated("Reading", location):
            return bytes(self._obstore.get(*self._at(location)).bytes())

    def size(self, location: str) -> int:
        with _translated("Reading", location):
            return int(self._obstore.head(*self._at(location))["size"])

    def exists(self, location: str) -> bool:
        try:
            self.size(location)
        except FileNotFoundError:
            return False
        return True

    def create(
        self, location: str, data: bytes, *, make_folders: bool = True, confirm: Callable[[], None] | None = None
    ) -> None:
        """A conditional put, without obstore's retries: after a lost answer they would take the own file for
        another's."""
        store, key = self._at(location, retries=False)
        lost: Exception | None = None
        for attempt in range(_CREATE_ATTEMPTS):
            if attempt:
                self._sleep(_FIRST_WAIT_S * 2**attempt)
            if confirm is not None and lost is None:
                confirm()
            try:
                with _translated("Writing", location):
                    self._obstore.put(store, key, data, mode="create")
                    return
            except FileExistsError:
                if lost is not None:
                    # The file may be the own one, from an attempt without an answer.
                    raise lost from None
                raise
            except FileNotFoundError:
                raise StorageError(
                    "STORAGE_FAILURE", operation="Writing", path=location, reason=_THERE_IS_NO_BUCKET
                ) from None
            except _NoAnswer as silence:
                lost = _Lost(silence.message, str(silence.parameters["reason"]))
        assert lost is not None
        raise lost

    def replace(self, location: str, data: bytes, *, confirm: Callable[[], None] | None = None) -> None:
        if confirm is not None:
            confirm()
        with _translated("Writing", location):
            self._obstore.put(*self._at(location), data)

    def open_output(self, location: str) -> BinaryIO:
        if self.exists(location):
            raise FileExistsError(location)
        with _translated("Writing", location):
            return cast(BinaryIO, _Upload(self._obstore.open_writer(*self._at(location)), location))

    def open_input(self, location: str) -> BinaryIO:
        size = self.size(location)
        store, key = self._at(location)

        def part(start: int, end: int) -> bytes:
            with _translated("Reading", location):
                return bytes(self._obstore.get_range(store, key, start=start, end=end))

        return cast(BinaryIO, io.BufferedReader(_Download(part, size), _READ_BUFFER))

    def delete(self, location: str, *, confirm: Callable[[], None] | None = None) -> None:
        if confirm is not None:
            confirm()
        with _translated("Deleting", location), suppress(FileNotFoundError):
            self._obstore.delete(*self._at(location))

    def list(self, prefix: str) -> Iterator[FileStatus]:
        for status in self._listed(prefix):
            if not status.path.endswith("/" + _FOLDER_MARK):
                yield status

    def require_readable(self, location: str) -> None:
        _parts(location)

    # folders

    def folder_exists(self, location: str) -> bool:
        return next(self._listed(location), None) is not None

    def create_folder(self, location: str) -> None:
        if self.folder_exists(location):
            raise FileExistsError(location)
        self.create(f"{location.rstrip('/')}/{_FOLDER_MARK}", b"")

    def list_folders(self, location: str) -> tuple[str, ...]:
        store, key = self._at(location)
        with _translated("Listing", location):
            found = self._obstore.list_with_delimiter(store, prefix=key or None)["common_prefixes"]
        names = (path.rstrip("/").rpartition("/")[2] for path in found)
        return tuple(sorted(name for name in names if not name.startswith(".")))

    def delete_folder(self, location: str) -> None:
        """Deletes metadata first, oldest first, so that an old version of a table never appears as its newest."""
        found = list(self._listed(location))
        if not found:
            raise FileNotFoundError(location)
        while found:
            # A concurrent commit may add files until its base is gone.
            for status in sorted(found, key=_order_of_deletion):
                self.delete(status.path)
            found = list(self._listed(location))

    def delete_empty_folder(self, location: str) -> bool:
        if next(self.list(location), None) is not None:
            return False
        for status in list(self._listed(location)):
            self.delete(status.path)
        return True

    def require_create_if_absent(self, folder: str) -> None:
        """Raises UnsupportedError if the store overwrites an existing file in spite of a conditional put, and
        StorageError if it does not answer."""
        probe = f"{folder.rstrip('/')}/{_PROBE_PREFIX}{uuid.uuid4().hex}"
        try:
            self.create(probe, b"1")
            try:
                self.create(probe, b"2")
            except FileExistsError:
                return
            finally:
                self.delete(probe)
        except _Lost as lost:
            # Nothing depends on what became of a probe.
            raise StorageError("STORAGE_FAILURE", operation="Writing", path=probe, reason=lost.reason) from None
        raise UnsupportedError(
            "CREATE_IF_ABSENT_UNSUPPORTED",
            path=folder,
            reason="the store ignores the condition If-None-Match of a put",
            way_out="Use a store that honours it, or keep the catalog in a database (type=jdbc).",
        )

    def _listed(self, prefix: str) -> Iterator[FileStatus]:
        store, key = self._at(prefix)
        scheme, bucket, _ = _parts(prefix)
        with _translated("Listing", prefix):
            for batch in self._obstore.list(store, prefix=key or None):
                for one in batch:
                    modified_ms = int(one["last_modified"].timestamp() * 1000)
                    yield FileStatus(f"{scheme}://{bucket}/{one['path']}", one["size"], modified_ms)

    # the store

    @property
    def _obstore(self) -> Any:
        return _package()

    def _at(self, location: str, *, retries: bool = True) -> tuple[Any, str]:
        _, bucket, key = _parts(location)
        if (bucket, retries) not in self._stores:
            self._stores[bucket, retries] = self._store(bucket, retries)
        return self._stores[bucket, retries], key

    def _store(self, bucket: str, retries: bool) -> Any:
        settings = self._settings
        given: dict[str, Any] = {}
        if settings.endpoint is not None:
            endpoint = settings.endpoint.strip().rstrip("/")
            given["endpoint"] = endpoint
            given["client_options"] = {"allow_http": endpoint.lower().startswith("http:")}
        if settings.region is not None:
            given["region"] = settings.region
        if settings.path_style is not None:
            given["virtual_hosted_style_request"] = not settings.path_style
        if settings.renew is not None:
            given["credential_provider"] = _Renewed(settings.renew, settings.credential)
        elif settings.credential is not None:
            given["access_key_id"] = settings.credential.access_key_id
            given["secret_access_key"] = settings.credential.secret_access_key
            if settings.credential.session_token is not None:
                given["session_token"] = settings.credential.session_token
        if not retries:
            given["retry_config"] = {"max_retries": 0}
        return _package().store.S3Store(bucket, **given)


class _Renewed:
    """Gives obstore the current credential, and a new one when that is about to expire."""

    def __init__(self, renew: Callable[[], S3Credential], first: S3Credential | None) -> None:
        self._renew = renew
        self._next = first

    def __call__(self) -> dict[str, Any]:
        credential = self._next or self._renew()
        self._next = None
        return {
            "access_key_id": credential.access_key_id,
            "secret_access_key": credential.secret_access_key,
            "token": credential.session_token,
            "expires_at": credential.expires_at and credential.expires_at - timedelta(seconds=30),
        }


class _Upload(io.RawIOBase):
    """An output stream for a new object, which appears as a whole after `close`."""

    def __init__(self, writer: Any, location: str) -> None:
        super().__init__()
        self._writer = writer
        self._location = location
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        with _translated("Writing", self._location):
            self._writer.write(bytes(view))
        self._position += len(view)
        return len(view)

    def close(self) -> None:
        if self.closed:
            return
        try:
            with _translated("Writing", self._location):
                self._writer.close()
        finally:
            super().close()


class _Download(io.RawIOBase):
    """An input stream that reads an object in ranges; `part` gives the bytes from a start to an end."""

    def __init__(self, part: Callable[[int, int], bytes], size: int) -> None:
        super().__init__()
        self._part = part
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        end = min(self._size, self._position + len(view))
        if end <= self._position:
            return 0
        data = self._part(self._position, end)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


class _NoAnswer(StorageError):
    """The request may have been executed."""


class _Lost(Exception):
    """A file may have been created or not."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def _package() -> Any:
    try:
        import obstore
        import obstore.store
    except ImportError:
        raise UnsupportedError("PACKAGE_REQUIRED", feature="An object store", package="obstore") from None
    return obstore


@contextmanager
def _translated(operation: str, location: str) -> Iterator[None]:
    """Turns obstore's errors into those of `FileIO`."""
    errors = _package().exceptions
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except errors.AlreadyExistsError:
        raise FileExistsError(location) from None
    except (errors.PermissionDeniedError, errors.UnauthenticatedError) as error:
        raise StorageError("STORAGE_ACCESS_DENIED", path=location, reason=_reason(error)) from None
    except errors.BaseError as error:
        reason = _reason(error)
        if "credential" in reason.lower() or _ROLES_OF_THE_MACHINE in reason:
            raise StorageError("STORAGE_ACCESS_DENIED", path=location, reason=reason) from None
        raise _NoAnswer("STORAGE_FAILURE", operation=operation, path=location, reason=reason) from None
    except OSError as error:
        raise _NoAnswer("STORAGE_FAILURE", operation=operation, path=location, reason=error) from None


def _reason(error: Exception) -> str:
    """obstore's message with the store's answer in it, by whole words, without debug output."""
    if _NO_BUCKET in str(error):
        return _THERE_IS_NO_BUCKET
    told = str(error).partition("\n\nDebug source")[0].rstrip(": \n")
    return textwrap.shorten(told, _REASON_LENGTH, placeholder=" …")


def _parts(location: str) -> tuple[str, str, str]:
    """Scheme, bucket and key. Raises AnalysisError INVALID_LOCATION without a bucket, or with `.` or `..` in the
    path."""
    scheme, _, rest = location.partition("://")
    bucket, _, key = rest.partition("/")
    if not bucket:
        raise AnalysisError("INVALID_LOCATION", location=location, reason="it names no bucket")
    if any(part in (".", "..") for part in key.split("/")) or "\0" in key:
        raise AnalysisError("INVALID_LOCATION", location=location, reason="its path has a '.' or '..' in it")
    return scheme, bucket, key.rstrip("/")


def _order_of_deletion(status: FileStatus) -> tuple[int, int]:
    name = status.path.rpartition("/")[2]
    version = _VERSION.fullmatch(name)
    if version is not None:
        return 0, int(version.group(1))
    return (1, 0) if name == "version-hint.text" else (2, 0)
