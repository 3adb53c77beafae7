"""What the sink tells of a batch: Spark has it in `StreamingQueryProgress`, as the metrics of the sink."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlext.spec.metadata.snapshot import Snapshot

# Metrics by the counters of the snapshot that they are.
_FILES = {"addedDataFiles": "added-data-files", "addedDeleteFiles": "added-delete-files"}


class BatchFigures:
    """The figures of one batch, which begins now. `clock` tells milliseconds since 1970."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._started = clock()
        self._commit_began = self._started
        self._landed_ms: int | None = None
        self._snapshots: Mapping[str, Snapshot] = {}
        self._of_tables = False

    def commit_begins(self) -> None:
        """Its rows are written. The last time counts, where it is written anew."""
        self._commit_began = self._clock()

    def commit_landed(self, snapshot: Snapshot | None) -> None:
        """`snapshot`: the one with its rows."""
        self._landed_ms = self._clock()
        self._snapshots = {} if snapshot is None else {"": snapshot}

    def tables_landed(self, snapshots: Mapping[str, Snapshot]) -> None:
        """The batch has gone to several tables: the snapshots with its rows, by the tables' names."""
        self._landed_ms, self._snapshots, self._of_tables = self._clock(), snapshots, True

    def metrics(self, rows: int | None, last_commit_ms: int | None) -> Mapping[str, str]:
        """By their names: those of all tables, and `<table>.<name>` where there are several. `rows`: how many it has,
        if that is known; `last_commit_ms`: when the batch before landed."""
        now = self._clock()
        figures = {
            "rowsWritten": rows,
            "writeMs": now - self._started,
            "sinceLastCommitMs": None if last_commit_ms is None else now - last_commit_ms,
        }
        if self._landed_ms is not None:
            figures["commitMs"] = self._landed_ms - self._commit_began
        for name, counter in _FILES.items():
            files = {table: int(one.summary.get(counter, "0")) for table, one in self._snapshots.items()}
            if files:
                figures[name] = sum(files.values())
            if self._of_tables:
                figures.update((f"{table}.{name}", number) for table, number in files.items())
        return {name: str(value) for name, value in figures.items() if value is not None}
