"""The files of a table's stored changelogs, by a listing of their folder."""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.spec.metadata.stored_changelog import changelog_folder, changelog_id
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO, FileStatus


def changelog_files(io: FileIO, metadata: TableMetadata) -> Iterator[tuple[str, FileStatus]]:
    """Each file with the id of its changelog; other files are skipped."""
    for file in io.list(changelog_folder(metadata)):
        id = changelog_id(file.path)
        if id is not None:
            yield id, file
