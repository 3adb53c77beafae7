"""Checks that a scan can and may read content files."""

from __future__ import annotations

from collections.abc import Iterable

from sqlext.errors import UnsupportedError
from sqlext.scan.files.file_columns import AVRO, ORC, PARQUET
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.storage.file_io import FileIO

_FORMATS = frozenset({PARQUET, ORC, AVRO})


def require_readable(file: ContentFile) -> None:
    """Raises UnsupportedError UNSUPPORTED_TABLE_FEATURE, naming the file, for encryption or an unsupported format."""
    kind = "data" if file.content == Content.DATA else "delete"
    feature = None
    if file.key_metadata is not None:
        feature = f"encryption (of the {kind} file {file.file_path})"
    elif file.file_format not in _FORMATS and not file.is_deletion_vector:
        feature = f"{file.file_format} {kind} files (such as {file.file_path})"
    if feature is not None:
        raise UnsupportedError("UNSUPPORTED_TABLE_FEATURE", feature=feature)


def require_allowed(io: FileIO, files: Iterable[ContentFile]) -> None:
    """Raises the error of `io` for a file that may not be read; for files that are opened without `io`."""
    for file in files:
        io.require_readable(file.file_path)
