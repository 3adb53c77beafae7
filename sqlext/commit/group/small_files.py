"""Small data files of appends that land together, made into fewer before the commit.

Nobody has seen these files yet, so that no delete points into them, and their rows get one sequence number and their
row ids with the snapshot, in whichever file they are. The files that were handed in stay until the commit has landed.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlext.commit.action import CommitContext
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.errors import SqlextError
from sqlext.scan.filter.file_filter import partition_key
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO

# What one commit reads and writes again, at most, as everybody waits for it. A file takes one to three milliseconds.
_MOST_BYTES = 32 * 1024 * 1024
_MOST_ROWS = 500_000


class MergeFiles(Protocol):
    """Writes the rows of data files to fewer; see `write.merged_file.merge_data_files`."""

    def __call__(
        self, io: FileIO, metadata: TableMetadata, table_name: str, operation_id: str, files: Sequence[ContentFile], /
    ) -> tuple[Sequence[ContentFile], Sequence[ContentFile]]:
        """The new files, and those of `files` whose rows they hold; none where they do not go together."""


@dataclass(frozen=True, slots=True)
class SmallFiles:
    """Data files of fewer than `min_bytes` are small; `merge` writes the rows of several as one file."""

    min_bytes: int
    merge: MergeFiles


@dataclass(frozen=True, slots=True)
class AppendedFiles:
    """What an append brings: `files`, of which `written` hold the rows of `replaced`, which are none of them."""

    files: tuple[ContentFile, ...]
    written: tuple[ContentFile, ...] = ()
    replaced: tuple[ContentFile, ...] = ()

    def keep_written(self, context: CommitContext) -> None:
        """Deletes what was replaced: the append has landed."""
        delete_files(context.io, [file.file_path for file in self.replaced])

    def take_back(self, context: CommitContext) -> None:
        """Deletes what was written: the append has not landed, and will not."""
        delete_files(context.io, [file.file_path for file in self.written])


def merged(
    small: SmallFiles, context: CommitContext, base: TableMetadata, files: Sequence[ContentFile], own: Sequence[str]
) -> AppendedFiles:
    """The files of an append to `base`, with one in the place of several small ones of a partition and sort order.

    `own` are the paths of those that may be replaced. Where merging fails the files are appended as they are.
    """
    written: list[ContentFile] = []
    replaced: list[ContentFile] = []
    in_place_of: dict[str, Sequence[ContentFile]] = {}
    try:
        for group in _groups(small.min_bytes, files, frozenset(own)):
            operation_id = str(uuid.UUID(int=context.rng.getrandbits(128), version=4))
            added, gone = small.merge(context.io, base, context.name, operation_id, group)
            if gone:
                written += added
                replaced += gone
                in_place_of |= {file.file_path: () for file in gone} | {gone[0].file_path: added}
    except BaseException as error:
        delete_files(context.io, [file.file_path for file in written])
        if not isinstance(error, SqlextError | OSError):
            raise
        return AppendedFiles(tuple(files))
    kept = itertools.chain.from_iterable(in_place_of.get(file.file_path, (file,)) for file in files)
    return AppendedFiles(tuple(kept), tuple(written), tuple(replaced))


def _groups(min_bytes: int, files: Sequence[ContentFile], own: frozenset[str]) -> Iterator[list[ContentFile]]:
    """Small files that go together, two or more at a time."""
    groups: dict[object, list[ContentFile]] = {}
    size = rows = 0
    for file in files:
        is_small = file.file_size_in_bytes < min_bytes and file.file_format == "PARQUET" and file.key_metadata is None
        if not is_small or file.file_path not in own:
            continue
        size, rows = size + file.file_size_in_bytes, rows + file.record_count
        if size > _MOST_BYTES or rows > _MOST_ROWS:
            break
        groups.setdefault((partition_key(file), file.sort_order_id), []).append(file)
    yield from (group for group in groups.values() if len(group) > 1)
