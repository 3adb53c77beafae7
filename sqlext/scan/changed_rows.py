"""The rows that differ between two snapshots, as positions in data files."""

from __future__ import annotations

from dataclasses import dataclass

from pyroaring import BitMap64

from sqlext.scan.changed_files import changed_files
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spec.manifests.content_file import ContentFile


@dataclass(frozen=True, slots=True)
class RowsOfFile:
    """Rows of a data file, by position."""

    file: ContentFile
    positions: BitMap64


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Rows that are live only in the earlier snapshot (`went`) and only in the later (`came`).

    A row that a rewrite moved to another file is in both.
    """

    went: tuple[RowsOfFile, ...] = ()
    came: tuple[RowsOfFile, ...] = ()

    @property
    def count(self) -> int:
        return sum(len(rows.positions) for rows in (*self.went, *self.came))

    @property
    def bytes(self) -> float:
        """Estimated size of the rows in bytes, by their share of each file."""
        return sum(
            len(rows.positions) * rows.file.file_size_in_bytes / max(rows.file.record_count, 1)
            for rows in (*self.went, *self.came)
        )


def changed_rows(before: ScanPlan, after: ScanPlan, most: int | None = None) -> ChangedRows | None:
    """The rows that differ between two plans without predicate; None if more than `most`, which without it are all, or
    with equality deletes."""
    if before.equality_groups or after.equality_groups:
        return None
    then = before.by_path()
    now = after.by_path()
    files = changed_files(before, after)
    removed, added = [then[path] for path in files.removed], [now[path] for path in files.added]
    if most is not None and sum(one.file.record_count - one.deleted_rows for one in (*removed, *added)) > most:
        return None
    touched = [
        (now[path].file, then[path].deleted_positions(), now[path].deleted_positions()) for path in files.touched
    ]
    went = [*map(_live, removed), *(RowsOfFile(file, later - earlier) for file, earlier, later in touched)]
    came = [*map(_live, added), *(RowsOfFile(file, earlier - later) for file, earlier, later in touched)]
    changed = ChangedRows(
        tuple(rows for rows in went if rows.positions), tuple(rows for rows in came if rows.positions)
    )
    return changed if most is None or changed.count <= most else None


def _live(task: FileScanTask) -> RowsOfFile:
    return RowsOfFile(task.file, BitMap64(range(task.file.record_count)) - task.deleted_positions())
