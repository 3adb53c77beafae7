"""Which content files a scan can read."""

from __future__ import annotations

from collections.abc import Iterable

from sqlext.errors import UnsupportedError
from sqlext.scan.files.file_columns import AVRO, ORC, PARQUET
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.storage.file_io import FileIO

_FORMATS = frozenset({PARQUET, ORC, AVRO})


def require_readable(file: ContentFile) -> None:
    """Raises UnsupportedError, naming feature and file, for what this version does not read."""
    kind = "data" if file.content == Content.DATA else "delete"
    feature = None
    if file.key_metadata is not None:
        feature = f"encryption (of the {kind} file {file.file_path})"
    elif file.file_format not in _FORMATS and not file.is_deletion_vector:
        feature = f"{file.file_format} {kind} files (such as {file.file_path})"
    if feature is not None:
        raise UnsupportedError("UNSUPPORTED_TABLE_FEATURE", feature=feature)


def require_allowed(io: FileIO, files: Iterable[ContentFile]) -> None:
    """The errors of `io` for files that it may not read, where something else is to open them."""
    for file in files:
        io.require_readable(file.file_path)
