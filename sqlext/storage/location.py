"""Where the files of a table go, and how a location names a local path.

A location is used exactly as it is written: nothing is percent-decoded (Iceberg's partition folders hold `%` signs
of their own) and `#`, `?` and `:` are ordinary characters of a path.
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlext.errors import AnalysisError, SqlextError, UnsupportedError
from sqlext.properties import DATA_PATH, METADATA_PATH
from sqlext.spec.metadata.table_metadata import TableMetadata

OBJECT_SCHEMES = ("s3", "s3a", "s3n")
"""Three names for one kind of store, as Hadoop's readers have them."""


def is_object(location: str) -> bool:
    """Whether it is in an object store."""
    scheme, separator, _ = location.partition("://")
    return bool(separator) and scheme.lower() in OBJECT_SCHEMES


def as_location(text: str) -> str:
    """The location that a local path or a location means, without a slash at its end. Errors as `to_local_path`."""
    return text.rstrip("/") if is_object(text) else to_location(to_local_path(text))


def to_local_path(location: str) -> str:
    """The absolute path of `/a`, `file:/a` or `file:///a`.

    `UnsupportedError` UNSUPPORTED_LOCATION for another scheme or host, `AnalysisError` INVALID_LOCATION for a path
    that is relative or holds a NUL.
    """
    path = location
    scheme, separator, rest = location.partition(":")
    if separator and "/" not in scheme:
        if scheme.lower() != "file":
            raise UnsupportedError("UNSUPPORTED_LOCATION", location=location, reason=f"{scheme!r} is not known")
        path = rest
        if rest.startswith("//"):
            host, _, tail = rest[2:].partition("/")
            if host not in ("", "localhost"):
                raise UnsupportedError("UNSUPPORTED_LOCATION", location=location, reason=f"{host!r} is another host")
            path = "/" + tail
    if not path.startswith("/"):
        raise AnalysisError("INVALID_LOCATION", location=location, reason="it is not absolute")
    if "\0" in path:
        raise AnalysisError("INVALID_LOCATION", location=repr(location), reason="it holds a NUL character")
    return path


def to_location(path: str | os.PathLike[str]) -> str:
    """The `file:///` location of a local path; a relative one counts from the working folder."""
    return "file://" + os.path.abspath(path)


def configured_location(text: str) -> str:
    """What a setting means: a location as it stands, or a local path; without a slash at its end."""
    return text.rstrip("/") if ":" in text.partition("/")[0] else to_location(text)


def join(location: str, *parts: str) -> str:
    """`location` with `parts` below it, by single slashes."""
    stem = location if location == "/" else location.rstrip("/")
    return "/".join([stem.rstrip("/"), *(part.strip("/") for part in parts)]) if parts else stem


def same_place(location: str) -> str:
    """The same text for locations of one file, however they spell its scheme."""
    if is_object(location):
        return "s3://" + location.partition("://")[2].rstrip("/")
    try:
        # POSIX leaves two slashes in front alone; here they are one.
        return os.path.normpath("/" + to_local_path(location).lstrip("/"))
    except SqlextError:
        return location


def is_below(folder: str, location: str) -> bool:
    """Whether a file is in a folder, at any depth; `..` in its path counts for what it does."""
    place, root = same_place(location), same_place(folder).rstrip("/")
    return place.startswith(root + "/") and ".." not in place.split("/")


def data_location(metadata: TableMetadata) -> str:
    """The folder of new data and delete files: `write.data.path`, else `data` in the table's folder."""
    return (DATA_PATH.of(metadata.properties) or join(metadata.location, "data")).rstrip("/")


def metadata_location(metadata: TableMetadata) -> str:
    """The folder of new manifests and manifest lists: `write.metadata.path`, else `metadata` in the table's folder."""
    return (METADATA_PATH.of(metadata.properties) or join(metadata.location, "metadata")).rstrip("/")


def require_below(location: str, root: str) -> None:
    """AnalysisError PATH_OUTSIDE_WAREHOUSE unless `location` lies below `root`, with symbolic links resolved."""
    if not is_object(root):
        confine(to_local_path(location), to_local_path(root))
    elif not is_below(root, location):
        raise AnalysisError("PATH_OUTSIDE_WAREHOUSE", path=location, warehouse=root)


def confine(path: str, root: str) -> str:
    """`path` with symbolic links resolved; `AnalysisError` PATH_OUTSIDE_WAREHOUSE unless it lies below `root`.

    Neither has to exist. `root` itself is not below `root`.
    """
    resolved, resolved_root = os.path.realpath(path), os.path.realpath(root)
    if Path(resolved_root) not in Path(resolved).parents:
        raise AnalysisError("PATH_OUTSIDE_WAREHOUSE", path=path, warehouse=root)
    return resolved
