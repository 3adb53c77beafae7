"""Where the processes of one user on one machine meet: a Unix socket in a folder of that user's alone.

Whoever holds the lock beside the socket listens on it; the kernel gives the lock back when that process ends. Both
sides look at the other one's user, where the system tells it, and a message without the folder's token is not read.

A message is its length in four bytes and so many bytes.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import stat
import struct
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlext.errors import StorageError

PROTOCOL = b"sqlext 1\n"
"""What the listening side says first."""

MOST_BYTES = 16 * 1024 * 1024
"""The longest message."""

_LENGTH = struct.Struct(">I")
_CREDENTIALS = struct.Struct("3i")
# As of sockaddr_un, with the NUL at its end: that of macOS is the shorter.
_LONGEST_PATH = 103
_WAITING = 128
# The listening side speaks first, so that one which hangs is left alone before it has anything.
_HELLO_S = 2.0


class Unreachable(Exception):
    """Nobody listens, or in another protocol; nothing was sent."""


class Interrupted(Exception):
    """The other side went away; `was_sent` says whether it may have the message."""

    def __init__(self, was_sent: bool) -> None:
        super().__init__("the process that commits has ended")
        self.was_sent = was_sent


@dataclass(frozen=True, slots=True)
class MeetingPlace:
    """The socket of those who have the same settings, and what it takes to be heard there."""

    path: Path
    lock: Path
    token: bytes = field(repr=False)

    @classmethod
    def of(cls, settings: str, environment: Mapping[str, str] = os.environ) -> MeetingPlace:
        """That of a catalog's settings. They are in the file's name, which all users can see, by a keyed hash.

        `StorageError` STORAGE_FAILURE where the folder is another user's, or open to others.
        """
        folder = _own_folder(environment)
        token = _token(folder / "token")
        name = hmac.new(token, settings.encode(), "sha256").hexdigest()[:16]
        place = cls(folder / f"{name}.sock", folder / f"{name}.lock", token)
        if len(os.fsencode(place.path)) > _LONGEST_PATH:
            raise _refused(folder, f"its name is too long for a socket. Set TMPDIR to a shorter one than {folder}")
        return place

    def take(self) -> int | None:
        """The lock, as an open file that keeps it; None while another one has it."""
        # Not on Windows, which has no such sockets either.
        import fcntl

        held = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(held)
            return None
        return held

    def listen(self) -> socket.socket:
        """The socket, for who has the lock."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self.path))
        self.path.chmod(0o600)
        listener.listen(_WAITING)
        return listener

    def connect(self) -> socket.socket:
        """To the one that listens. `Unreachable`."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_HELLO_S)
            connection.connect(str(self.path))
            if not is_own(connection):
                raise Unreachable("another user listens")
            if _exactly(connection, len(PROTOCOL)) != PROTOCOL:
                raise Unreachable("another version of sqlext listens")
            connection.settimeout(None)
        except (OSError, EOFError) as error:
            connection.close()
            raise Unreachable(str(error)) from error
        except BaseException:
            connection.close()
            raise
        return connection


def is_own(connection: socket.socket) -> bool:
    """Whether the other side is a process of this user, as far as the system tells."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return bool(uid == os.geteuid())


def send(connection: socket.socket, message: bytes) -> None:
    connection.sendall(_LENGTH.pack(len(message)) + message)


def receive(connection: socket.socket) -> bytes:
    """The next message. EOFError; ValueError for one that is too long."""
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if length > MOST_BYTES:
        raise ValueError(f"a message of {length} bytes")
    return _exactly(connection, length)


def has_gone(connection: socket.socket) -> bool:
    """Whether the other side has closed the connection; it has nothing more to say before it is answered."""
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise EOFError("the connection was closed")
        parts += part
    return bytes(parts)


def _own_folder(environment: Mapping[str, str]) -> Path:
    """The user's own folder for what lives as long as processes do."""
    runtime = environment.get("XDG_RUNTIME_DIR")
    folder = Path(runtime, "sqlext") if runtime else Path(tempfile.gettempdir(), f"sqlext-{os.geteuid()}")
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except OSError as error:
        raise _refused(folder, str(error)) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise _refused(folder, "it is not a folder of this user alone")
    return folder


def _token(file: Path) -> bytes:
    """The folder's, which its first user makes; whole as soon as it is there."""
    if not file.exists():
        own = file.with_name(f"{file.name}-{secrets.token_hex(8)}")
        descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(secrets.token_bytes(32))
        with suppress(FileExistsError):
            os.link(own, file)
        own.unlink()
    return file.read_bytes()


def _refused(folder: Path, reason: str) -> StorageError:
    return StorageError("STORAGE_FAILURE", operation="Meeting other processes", path=str(folder), reason=reason)
