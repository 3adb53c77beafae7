"""Write tasks: functions on batches that run in `mapInArrow` on executors, or on the driver over a list.

A task returns commit messages. After an error it deletes its files and returns an `error` message, so that no stack
trace reaches the user. An interrupt is raised again after the files are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlext.errors import OnlyByQuery, SqlextError, StorageError
from sqlext.spec.manifests.row_origins import head_of
from sqlext.storage.file_io import FileIO
from sqlext.write.commit_message import (
    TaskMessage,
    counts_message,
    encode_messages,
    error_message,
    file_message,
    origins_location,
    origins_message,
    stored_origins_message,
)
from sqlext.write.data_writer import DataWriter
from sqlext.write.delete_writer import EqualityDeleteWriter
from sqlext.write.distinct_keys import DistinctKeys
from sqlext.write.refused_rows import accepted_rows
from sqlext.write.row_operation import DELETE, INSERT, MATCH, OPERATION_COLUMNS, UPDATE, RowPositions
from sqlext.write.violated_rows import CheckedRows
from sqlext.write.write_plan import WritePlan

Batches = Iterator[pa.RecordBatch]
WriteTask = Callable[[Batches], Batches]
TaskIdentity = Callable[[], tuple[int, int]]


COPIES = "copies"
BY_QUERY = "files that only a query can read"
"""The count of a task that has met such a file, and has left no file of its own."""
# The most bytes of a file's row origins in a message; more are stored beside the file.
_MOST_ORIGINS_BYTES = 4 * 1024 * 1024


class Work(Protocol):
    """Rows in, messages out; `abort` deletes the files."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> list[TaskMessage]: ...

    def abort(self) -> None: ...


def write_rows(
    plan: WritePlan, *, task_identity: TaskIdentity, io: FileIO | None = None, may_leave: bool = False
) -> WriteTask:
    """A task that writes rows in the table's columns; `may_leave` is as in `write_task`.

    `task_identity` returns the numbers of the task and of its attempt; it is called once per run, where the task runs.
    No two runs of an operation may share both.
    """
    return write_task(
        plan, lambda store, task, attempt: _Rows(store, plan, task, attempt), task_identity, io, may_leave=may_leave
    )


def write_changes(
    plan: WritePlan,
    *,
    task_identity: TaskIdentity,
    distinct_keys: bool = False,
    writes_rows: bool = True,
    io: FileIO | None = None,
    may_leave: bool = False,
) -> WriteTask:
    """A task that takes `__operation`, `_file` and `_pos` before the table's columns.

    Deleted and updated rows become positions of their data files, updated and inserted ones new rows; rows that are
    only matched become positions too. With `distinct_keys` two source rows of one key within the task are the error
    DUPLICATE_KEY, which names up to five keys, and the count `COPIES` is the number of new rows beyond one per key.
    Without `writes_rows` rows are counted and checked, and no file is written. Rows may be marked as refused, see
    `refused_rows`. `task_identity` and `may_leave` are as in `write_rows`.
    """
    return write_task(
        plan,
        lambda store, task, attempt: _Changes(store, plan, task, attempt, distinct_keys, writes_rows),
        task_identity,
        io,
        may_leave=may_leave,
    )


def upsert_rows(
    plan: WritePlan,
    equality_ids: Sequence[int],
    *,
    task_identity: TaskIdentity,
    distinct_keys: bool = True,
    io: FileIO | None = None,
) -> WriteTask:
    """A task that takes `__operation` before the table's columns.

    It writes the rows that are no deletes, and an equality delete for the key of each row. With `distinct_keys` two
    rows of one key within the task are the error DUPLICATE_KEY, which names up to five keys. Rows may be marked as
    refused, see `refused_rows`. `task_identity` is as in `write_rows`.
    """
    ids = tuple(equality_ids)
    return write_task(
        plan, lambda store, task, attempt: _Upsert(store, plan, ids, task, attempt, distinct_keys), task_identity, io
    )


def write_task(
    plan: WritePlan,
    begin: Callable[[FileIO, int, int], Work],
    task_identity: TaskIdentity,
    io: FileIO | None = None,
    *,
    may_leave: bool = False,
) -> WriteTask:
    """A task that does the work which `begin` returns for the store, the task's number and its attempt.

    One that `may_leave` ends with the count `BY_QUERY`, and no file, when its rows raise OnlyByQuery: its caller looks
    for that count.
    """

    def run(batches: Batches) -> Batches:
        yield encode_messages(_run(plan, begin, task_identity, io or plan.io, batches, may_leave=may_leave))

    return run


def _run(
    plan: WritePlan,
    begin: Callable[[FileIO, int, int], Work],
    task_identity: TaskIdentity,
    io: FileIO,
    batches: Batches,
    *,
    may_leave: bool,
) -> list[TaskMessage]:
    work: Work | None = None
    try:
        task, attempt = task_identity()
        work = begin(io, task, attempt)
        checked = CheckedRows(plan, task)
        for batch in batches:
            work.write(checked.of(batch))
        return work.close()
    except BaseException as error:
        if work is not None:
            work.abort()
        if may_leave and isinstance(error, OnlyByQuery):
            return [counts_message({BY_QUERY: 1})]
        if not isinstance(error, Exception):
            raise
        return [error_message(_reported(error))]


def _reported(error: Exception) -> SqlextError:
    match error:
        case SqlextError():
            return error
        case OSError():
            path = error.filename or "a data file"
            return StorageError("STORAGE_FAILURE", operation="Writing", path=path, reason=error.strerror or error)
    reason = f"{type(error).__name__}: {error}"
    return SqlextError("INTERNAL_ERROR", asked="write task", reason=reason)


class _Rows:
    def __init__(self, io: FileIO, plan: WritePlan, task_id: int, attempt: int) -> None:
        self._io = io
        self._data = DataWriter(io, plan, task_id, attempt)
        self._inserted = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._data.write(batch)
        self._inserted += batch.num_rows

    def close(self) -> list[TaskMessage]:
        files = [file_message(file) for file in self._data.close()]
        origins = [self._origins(path, packed) for path, packed in self._data.origins.items()]
        return [*files, *origins, counts_message({"inserted": self._inserted})]

    def _origins(self, path: str, packed: bytes) -> TaskMessage:
        if len(packed) <= _MOST_ORIGINS_BYTES:
            return origins_message(path, packed)
        self._io.create(origins_location(path), packed)
        return stored_origins_message(path, head_of(packed))

    def abort(self) -> None:
        self._data.abort()


class _Changes:
    def __init__(
        self, io: FileIO, plan: WritePlan, task_id: int, attempt: int, distinct_keys: bool, writes_rows: bool
    ) -> None:
        self._writes_rows = writes_rows
        self._plan = plan
        self._data = DataWriter(io, plan, task_id, attempt)
        self._keys = DistinctKeys(plan) if distinct_keys else None
        self._positions = RowPositions(deleted=True)
        self._matched = RowPositions(deleted=False)
        self._counts = {"inserted": 0, "updated": 0, "deleted": 0}

    def write(self, batch: pa.RecordBatch) -> None:
        batch = accepted_rows(self._plan, batch, OPERATION_COLUMNS)
        operations = batch.column(0).to_numpy(zero_copy_only=False)
        for name, operation in (("inserted", INSERT), ("updated", UPDATE), ("deleted", DELETE)):
            self._counts[name] += int(np.count_nonzero(operations == operation))
        self._positions.add(_chosen(batch, (operations == DELETE) | (operations == UPDATE)))
        self._matched.add(_chosen(batch, operations == MATCH))
        rows = _chosen(batch, operations > DELETE)
        if rows.num_rows and self._writes_rows:
            self._data.write(rows.select(range(OPERATION_COLUMNS, rows.num_columns)))
        if self._keys is not None:
            self._keys.add(batch.columns[OPERATION_COLUMNS:], batch.columns[:OPERATION_COLUMNS])

    def close(self) -> list[TaskMessage]:
        if self._keys is not None:
            self._counts[COPIES] = self._keys.require()
        files = [file_message(file) for file in self._data.close()]
        return [*files, *self._positions.messages(), *self._matched.messages(), counts_message(self._counts)]

    def abort(self) -> None:
        self._data.abort()
        if self._keys is not None:
            self._keys.close()


class _Upsert:
    def __init__(
        self,
        io: FileIO,
        plan: WritePlan,
        equality_ids: tuple[int, ...],
        task_id: int,
        attempt: int,
        distinct_keys: bool,
    ) -> None:
        self._plan = plan
        self._deletes = EqualityDeleteWriter(io, plan, equality_ids, task_id, attempt)
        self._data = DataWriter(io, plan, task_id, attempt)
        self._keys = DistinctKeys(plan) if distinct_keys else None
        self._counts = {"inserted": 0, "deleted": 0}

    def write(self, batch: pa.RecordBatch) -> None:
        batch = accepted_rows(self._plan, batch, 1)
        columns = batch.columns[1:]
        written = batch.column(0).to_numpy(zero_copy_only=False) != DELETE
        rows = _chosen(batch, written)
        if rows.num_rows:
            self._data.write(rows.select(range(1, rows.num_columns)))
        keys = pa.RecordBatch.from_arrays([columns[i] for i in self._deletes.positions], self._deletes.names)
        self._deletes.write(keys)
        if self._keys is not None:
            self._keys.add(columns)
        self._counts["inserted"] += rows.num_rows
        self._counts["deleted"] += batch.num_rows - rows.num_rows

    def close(self) -> list[TaskMessage]:
        if self._keys is not None:
            self._keys.require()
        # In parallel, as both wait for the disk.
        with ThreadPoolExecutor(1) as thread:
            deletes = thread.submit(self._deletes.close)
            files = self._data.close()
        files += deletes.result()
        return [*(file_message(file) for file in files), counts_message(self._counts)]

    def abort(self) -> None:
        self._data.abort()
        self._deletes.abort()
        if self._keys is not None:
            self._keys.close()


def _chosen(batch: pa.RecordBatch, mask: NDArray[np.bool_]) -> pa.RecordBatch:
    if mask.all():
        return batch
    return batch.filter(pa.array(mask)) if mask.any() else batch.slice(0, 0)
