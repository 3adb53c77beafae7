"""The manifest entries of data files that another program has written, read by several threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.procedure.procedure import Procedure
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.storage.file_io import FileIO
from sqlext.write.existing.existing_file import ExistingFile, TableShape, content_file
from sqlext.write.existing.existing_schema import SchemaMismatch

THREADS = 8


def threads(procedure: Procedure, arguments: Mapping[str, Any]) -> int:
    """The number of threads by the argument `parallelism`. Raises AnalysisError unless it is positive."""
    asked = arguments["parallelism"]
    if asked is not None and asked < 1:
        raise AnalysisError(
            "PROCEDURE_ARGUMENT",
            procedure=procedure.name,
            reason="parallelism is not positive",
            parameters=procedure.signature,
        )
    return THREADS if asked is None else int(asked)


def content_files(
    io: FileIO, files: Sequence[ExistingFile], shape: TableShape, name: str, threads: int
) -> tuple[ContentFile, ...]:
    """The entries, in the order of the files. Raises UnsupportedError FILE_NOT_ADDED naming the first misfit."""

    def read(file: ExistingFile) -> ContentFile:
        try:
            return content_file(io, file, shape)
        except SchemaMismatch as misfit:
            raise UnsupportedError("FILE_NOT_ADDED", path=file.location, name=name, reason=misfit) from None

    with ThreadPoolExecutor(threads) as pool:
        return tuple(pool.map(read, files))
