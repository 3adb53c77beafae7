"""What lies between two snapshots of a table, by files: which rows have to be looked at to tell what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlext.scan.scan_plan import EqualityDeleteFile, FileScanTask, ScanPlan


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """Paths of data files. `removed` have live rows before only, `added` after only; `touched` have other deletes."""

    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether there may be a change at all."""
        return bool(self.removed or self.added or self.touched)


def changed_files(before: ScanPlan, after: ScanPlan) -> ChangedFiles:
    """The files of which rows may have come or gone, by the plans of two whole scans.

    Equality deletes are told apart by their files: a file is touched where one that may delete rows of it came or went.
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
    """Whether the file's deletes are in the task's scope, by their sequence numbers and partitions."""
    same_partition = deletes.partition_ordinal is None or deletes.partition_ordinal == task.partition_ordinal
    return deletes.sequence_number > task.sequence_number and same_partition
