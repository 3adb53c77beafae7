"""What the sink tells of a batch: Spark has it in `StreamingQueryProgress`, as the metrics of the sink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlext.spec.metadata.snapshot import Snapshot

# Metrics by the counters of the snapshot that they are.
_FILES = {"addedDataFiles": "added-data-files", "addedDeleteFiles": "added-delete-files"}


@dataclass(frozen=True, slots=True)
class BatchCommit:
    """The commit of a batch: when it began and when it landed, in milliseconds since 1970.

    `snapshots` are those with its rows, by the tables' names where it went to several (`of_tables`). A commit that has
    landed without being told so has none of this.
    """

    began_ms: int
    landed_ms: int | None = None
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)
    of_tables: bool = False


@dataclass(frozen=True, slots=True)
class BatchFigures:
    """`began_ms` and `ended_ms` of the write are in milliseconds since 1970; `rows`: how many it has, if that is known.

    `commit` is None where there was nothing to commit. `last_commit_ms`: when the batch before landed.
    """

    began_ms: int
    ended_ms: int
    rows: int | None
    commit: BatchCommit | None
    last_commit_ms: int | None

    def metrics(self) -> Mapping[str, str]:
        """By their names: those of all tables, and `<table>.<name>` where there are several."""
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
