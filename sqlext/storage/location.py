"""Locations of a table's files, and their conversion to local paths.

A location is used as it is written: nothing is percent-decoded (names of Iceberg's partition folders contain `%`), and
`#`, `?` and `:` are ordinary characters.
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlext.errors import AnalysisError, SqlextError, UnsupportedError
from sqlext.properties import DATA_PATH, METADATA_PATH
from sqlext.spec.metadata.table_metadata import TableMetadata

OBJECT_SCHEMES = ("s3", "s3a", "s3n")
"""Schemes of one kind of store, as in Hadoop."""


def is_object(location: str) -> bool:
    """Whether the location is in an object store."""
    scheme, separator, _ = location.partition("://")
    return bool(separator) and scheme.lower() in OBJECT_SCHEMES


def as_location(text: str) -> str:
    """The location of a local path or location, without a trailing slash. Raises as `to_local_path`."""
    return text.rstrip("/") if is_object(text) else to_location(to_local_path(text))


def to_local_path(location: str) -> str:
    """The absolute path of `/a`, `file:/a` or `file:///a`.

    Raises UnsupportedError UNSUPPORTED_LOCATION for another scheme or host, AnalysisError INVALID_LOCATION for a
    relative path or one with a NUL.
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
    """The `file:///` location of a local path, which may be relative to the working folder."""
    return "file://" + os.path.abspath(path)


def configured_location(text: str) -> str:
    """The location in a setting, which may be a local path; without a trailing slash."""
    return text.rstrip("/") if ":" in text.partition("/")[0] else to_location(text)


def join(location: str, *parts: str) -> str:
    """`location` with `parts` appended, separated by single slashes."""
    stem = location if location == "/" else location.rstrip("/")
    return "/".join([stem.rstrip("/"), *(part.strip("/") for part in parts)]) if parts else stem


def same_place(location: str) -> str:
    """A text that is equal for all spellings of a file's location."""
    if is_object(location):
        return "s3://" + location.partition("://")[2].rstrip("/")
    try:
        # POSIX keeps two leading slashes; here they are one.
        return os.path.normpath("/" + to_local_path(location).lstrip("/"))
    except SqlextError:
        return location


def is_below(folder: str, location: str) -> bool:
    """Whether a file is in a folder, at any depth, with `..` applied."""
    place, root = same_place(location), same_place(folder).rstrip("/")
    return place.startswith(root + "/") and ".." not in place.split("/")


def data_location(metadata: TableMetadata) -> str:
    """The folder of new data and delete files: `write.data.path`, else `data` in the table's folder."""
    return (DATA_PATH.of(metadata.properties) or join(metadata.location, "data")).rstrip("/")


def metadata_location(metadata: TableMetadata) -> str:
    """The folder of new manifests and manifest lists: `write.metadata.path`, else `metadata` in the table's folder."""
    return (METADATA_PATH.of(metadata.properties) or join(metadata.location, "metadata")).rstrip("/")


def require_below(location: str, root: str) -> None:
    """Raises AnalysisError PATH_OUTSIDE_WAREHOUSE unless `location` is below `root`, with symbolic links resolved."""
    if not is_object(root):
        confine(to_local_path(location), to_local_path(root))
    elif not is_below(root, location):
        raise AnalysisError("PATH_OUTSIDE_WAREHOUSE", path=location, warehouse=root)


def confine(path: str, root: str) -> str:
    """`path` with symbolic links resolved. Raises AnalysisError PATH_OUTSIDE_WAREHOUSE unless it is below `root`.

    Neither has to exist. `root` itself is not below `root`.
    """
    resolved, resolved_root = os.path.realpath(path), os.path.realpath(root)
    if Path(resolved_root) not in Path(resolved).parents:
        raise AnalysisError("PATH_OUTSIDE_WAREHOUSE", path=path, warehouse=root)
    return resolved
