"""What the sink tells of a batch: Spark has it in `StreamingQueryProgress`, as the metrics of the sink."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlext.spec.snapshot import Snapshot

# Metrics by the counters of the snapshot that they are.
_FILES = {"addedDataFiles": "added-data-files", "addedDeleteFiles": "added-delete-files"}


class BatchFigures:
    """The figures of one batch, which begins now. `clock` tells milliseconds since 1970."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._started = clock()
        self._commit_began = self._started
        self._landed: tuple[int, Snapshot | None] | None = None

    def commit_begins(self) -> None:
        """Its rows are written. The last time counts, where it is written anew."""
        self._commit_began = self._clock()

    def commit_landed(self, snapshot: Snapshot | None) -> None:
        """`snapshot`: the one with its rows."""
        self._landed = self._clock(), snapshot

    def metrics(self, rows: int | None, last_commit_ms: int | None) -> Mapping[str, str]:
        """By their names. `rows`: how many it has, if that is known; `last_commit_ms`: when the batch before landed."""
        now = self._clock()
        figures = {
            "rowsWritten": rows,
            "writeMs": now - self._started,
            "sinceLastCommitMs": None if last_commit_ms is None else now - last_commit_ms,
        }
        if self._landed is not None:
            landed, snapshot = self._landed
            figures["commitMs"] = landed - self._commit_began
            if snapshot is not None:
                figures.update((name, int(snapshot.summary.get(counter, "0"))) for name, counter in _FILES.items())
        return {name: str(value) for name, value in figures.items() if value is not None}
