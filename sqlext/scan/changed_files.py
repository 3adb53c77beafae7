"""The data files in which rows may differ between two snapshots of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlext.scan.scan_plan import EqualityDeleteFile, FileScanTask, ScanPlan


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """Paths of data files: `removed` have live rows only in the earlier snapshot, `added` only in the later, `touched`
    in both, with other deletes."""

    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether any row may differ."""
        return bool(self.removed or self.added or self.touched)


def changed_files(before: ScanPlan, after: ScanPlan) -> ChangedFiles:
    """The files with rows that may differ between two plans without predicate.

    A file in both plans is touched if its deleted positions differ, or if an equality-delete file that applies to it is
    in one plan only.
    """
    then, now = before.by_path(), after.by_path()
    deletes_then, deletes_now = _equality_files(before), _equality_files(after)
    came = [one for path, one in deletes_now.items() if path not in deletes_then]
    went = [one for path, one in deletes_then.items() if path not in deletes_now]
    kept = then.keys() & now.keys()
    touched = [
        path
        for path in kept
        if then[path].position_deletes != now[path].position_deletes
        or any(_reaches(one, now[path]) for one in came)
        or any(_reaches(one, then[path]) for one in went)
    ]
    return ChangedFiles(tuple(sorted(then.keys() - kept)), tuple(sorted(now.keys() - kept)), tuple(sorted(touched)))


def _equality_files(plan: ScanPlan) -> Mapping[str, EqualityDeleteFile]:
    return {one.file.file_path: one for group in plan.equality_groups for one in group.files}


def _reaches(deletes: EqualityDeleteFile, task: FileScanTask) -> bool:
    """Whether the equality deletes apply to the task's file, by sequence number and partition."""
    same_partition = deletes.partition_ordinal is None or deletes.partition_ordinal == task.partition_ordinal
    return deletes.sequence_number > task.sequence_number and same_partition
