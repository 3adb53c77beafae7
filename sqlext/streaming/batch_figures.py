"""Metrics of a micro-batch's write, which Spark reports as those of the sink in `StreamingQueryProgress`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlext.spec.metadata.snapshot import Snapshot

# Counters of snapshot summaries by metric.
_FILES = {"addedDataFiles": "added-data-files", "addedDeleteFiles": "added-delete-files"}


@dataclass(frozen=True, slots=True)
class BatchCommit:
    """The commit of a batch: the times of its begin and end in milliseconds since 1970, and its snapshots.

    `snapshots` are by name of table for a batch of several tables (`of_tables`), else by "". `landed_ms` is None and
    `snapshots` is empty if the commit's outcome was not reported.
    """

    began_ms: int
    landed_ms: int | None = None
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)
    of_tables: bool = False


@dataclass(frozen=True, slots=True)
class BatchFigures:
    """The write of a batch from `began_ms` to `ended_ms`, and the previous commit of its query, at `last_commit_ms`.

    Times are in milliseconds since 1970. `rows` is None if unknown, `commit` None if there was nothing to commit.
    """

    began_ms: int
    ended_ms: int
    rows: int | None
    commit: BatchCommit | None
    last_commit_ms: int | None

    def metrics(self) -> Mapping[str, str]:
        """Values by metric: totals, and `<table>.<metric>` for each of several tables."""
        figures = {
            "rowsWritten": self.rows,
            "writeMs": self.ended_ms - self.began_ms,
            "sinceLastCommitMs": None if self.last_commit_ms is None else self.ended_ms - self.last_commit_ms,
        }
        if self.commit is not None and self.commit.landed_ms is not None:
            figures["commitMs"] = self.commit.landed_ms - self.commit.began_ms
            figures |= _file_figures(self.commit)
        return {name: str(value) for name, value in figures.items() if value is not None}


def _file_figures(commit: BatchCommit) -> Mapping[str, int]:
    figures: dict[str, int] = {}
    for name, counter in _FILES.items():
        files = {table: int(one.summary.get(counter, "0")) for table, one in commit.snapshots.items()}
        if files:
            figures[name] = sum(files.values())
        if commit.of_tables:
            figures.update((f"{table}.{name}", number) for table, number in files.items())
    return figures
