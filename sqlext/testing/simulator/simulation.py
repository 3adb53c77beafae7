"""A pipeline among the histories of seeds."""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from sqlext.local.given_rows import names_of
from sqlext.local.local_table import LocalTable
from sqlext.testing.comparable_rows import comparable, given_rows
from sqlext.testing.compared_tables import table_difference
from sqlext.testing.faults import Faults, SwitchedFault
from sqlext.testing.simulator.batch import Batch, Change, Row, last_wins
from sqlext.testing.simulator.change_history import FaultRates, Step, history_of
from sqlext.testing.simulator.random_values import Values
from sqlext.testing.simulator.shrinking import shrunk

Apply: TypeAlias = Callable[[Batch], object]
_MOST_CHARACTERS = 200
Model: TypeAlias = Callable[["Row | None", Change], "Row | None"]


class SimulationFailed(AssertionError):
    """A pipeline has not done what it must. `seed` gives the same history again."""

    def __init__(self, message: str, seed: int) -> None:
        super().__init__(message)
        self.seed = seed


def simulate(
    apply: Apply,
    table: LocalTable,
    *,
    seed: int,
    steps: int = 12,
    rates: FaultRates | None = None,
    faults: Faults | None = None,
    keys: int = 8,
    most_changes: int = 4,
    values: Values | None = None,
    model: Model = last_wins,
    key: str | Sequence[str] | None = None,
    read: Callable[[], Any] | None = None,
    atomic: bool = True,
    attempts: int = 3,
    reset: Callable[[], object] | None = None,
    shrink_s: float = 10.0,
    numbers: Iterator[int] | None = None,
) -> None:
    """Has the pipeline `apply` bring a random history into `table`, and raises SimulationFailed if it goes wrong.

    Each of the `steps` is a batch of up to `most_changes` changes of some of `keys` different keys, with values of the
    table's types, or by `values` for columns that take others alone. Faults befall it by `rates`, within the reach of
    `faults`. If the pipeline fails because of them, it is called again with the same batch, without faults and up to
    `attempts` times; a failure without a fault is its own. After a call that returns, the rows that `read` reads, by
    default those of the table, must be those of `model`, which says what is under a key after a change. After one that
    fails they may also be those before the batch; if the pipeline is not `atomic`, any.

    `key` is the table's key by default. Rows that the table has are the beginning. A history that fails is shortened
    for `shrink_s` seconds, for which `reset` brings everything to the state of the beginning; by default it sets the
    rows of the table. A pipeline that remembers batches tells them apart by their `numbers`, by default
    from 1 on.

    The table is of `sqlext.local`; one of a Spark session is the same table there, by the same catalog.

    Raises ValueError for a table without a key, for columns that it has not or of a type that nothing is drawn of, and
    for a history in which nothing would happen.

        >>> from sqlext.testing import TemporaryCatalog, make_table
        >>> from sqlext.testing.simulator import simulate
        >>> lake = TemporaryCatalog.within(folder).open()
        >>> orders = make_table(lake, "id BIGINT, buyer STRING", name="db.simulated", key="id")
        >>> simulate(lambda batch: orders.upsert(batch.rows()), orders, seed=7)
    """
    __tracebackhide__ = True
    by = table.key if key is None else names_of(key)
    if not by:
        raise ValueError(f"{table.name} has no key by which its rows can be found: tell one by key=")
    history = history_of(
        seed,
        table.schema,
        by,
        steps=steps,
        keys=keys,
        most_changes=most_changes,
        rates=rates or FaultRates(),
        values=values or {},
    )
    pipeline = _Pipeline(
        apply,
        table,
        by,
        model,
        read or table.to_arrow,
        faults or Faults(table),
        atomic=atomic,
        attempts=attempts,
        numbers=numbers or itertools.count(1),
    )
    before = given_rows(pipeline.read()).rows
    failure = pipeline.run(history, before)
    if failure is None:
        return
    start_again = reset or (lambda: _set_rows(table, before))
    failed_at = failure.step + 1
    shortest, failure = _shortest(pipeline, history[:failed_at], failure, before, start_again, shrink_s)
    shortened = f", shortened to {len(shortest)}" if len(shortest) < failed_at else ""
    raise SimulationFailed(_report(seed, f"{len(history)} steps{shortened}", failure), seed)


def simulate_seeds(seeds: Iterable[int], apply: Apply, table: LocalTable, **given: Any) -> None:
    """`simulate` with each of the seeds: on the table as the one before left it, with batches of further numbers."""
    __tracebackhide__ = True
    numbers = itertools.count(1)
    for seed in seeds:
        simulate(apply, table, seed=seed, numbers=numbers, **given)


@dataclass
class _Failure:
    """What went wrong at a step; `told` are the steps up to it, with what befell them."""

    step: int
    what: str
    told: list[str]


@dataclass(frozen=True)
class _Pipeline:
    """The pipeline under test, and its table."""

    apply: Apply
    table: LocalTable
    key: Sequence[str]
    model: Model
    read: Callable[[], Any]
    faults: Faults
    atomic: bool
    attempts: int
    numbers: Iterator[int]

    def run(self, history: Sequence[Step], stored: Iterable[Row]) -> _Failure | None:
        """None if the pipeline does what it must, from the rows `stored` on."""
        rows = {self.place(row): row for row in stored}
        told: list[str] = []
        for at, step in enumerate(history):
            run = _StepRun(self, step, rows)
            what = run.failure()
            told.append(run.told(at))
            if what is not None:
                return _Failure(at, what, told)
            rows = run.after
        return None

    def place(self, row: Row) -> Any:
        return tuple(comparable(row[name]) for name in self.key)


class _StepRun:
    """One step: the batch, and the rows before and after it."""

    def __init__(self, pipeline: _Pipeline, step: Step, before: dict[Any, Row]) -> None:
        self._pipeline = pipeline
        self._step = step
        self._befallen: list[str] = []
        self.before = before
        self.batch = Batch(next(pipeline.numbers), tuple(self._changes()), pipeline.table.schema, tuple(pipeline.key))
        self.after = self._changed(before, self.batch.changes)

    def failure(self) -> str | None:
        """What goes wrong."""
        for attempt in range(self._pipeline.attempts + 1):
            error = self._called(with_faults=attempt == 0)
            if error is None:
                break
            if not self._befallen or attempt == self._pipeline.attempts:
                return f"the pipeline fails {'again and again' if attempt else 'without a fault'}:\n{_traceback(error)}"
            wrong = self._wrong_after_failure()
            if wrong is not None:
                return wrong
        wrong = self._wrong(self.after)
        if wrong is not None:
            return f"the pipeline has returned, and {wrong}"
        return self._failure_of_redelivery() if "redelivery" in self._step.faults else None

    def told(self, at: int) -> str:
        lines = [f"step {at + 1}: batch {self.batch.number}", *(f"  {one}" for one in self.batch.changes)]
        return "\n".join([*lines, *(f"  * {one}" for one in self._befallen)])

    def _changes(self) -> Iterable[Change]:
        for one in self._step.changes:
            stored = self.before.get(tuple(map(comparable, one.key)))
            if one.row is not None:
                yield Change("+I" if stored is None else "+U", one.row)
            elif stored is not None:
                yield Change("-D", stored)

    def _changed(self, rows: Mapping[Any, Row], changes: Iterable[Change]) -> dict[Any, Row]:
        """The rows after the changes, by the model."""
        after = dict(rows)
        for change in changes:
            place = self._pipeline.place(change.row)
            row = self._pipeline.model(after.get(place), change)
            if row is None:
                after.pop(place, None)
            else:
                after[place] = row
        return after

    def _called(self, *, with_faults: bool) -> Exception | None:
        """The error in which the pipeline ends, if any."""
        switched: list[tuple[str, SwitchedFault]] = []
        error: Exception | None = None
        try:
            with ExitStack() as stack:
                if with_faults:
                    switched += self._switch_on(stack)
                self._pipeline.apply(self.batch)
        except Exception as raised:
            error = raised
        self._befallen += [name.replace("_", " ") for name, fault in switched if fault.met]
        if error is not None:
            self._befallen += [f"raised {_brief(error)}"] if self._befallen else []
        return error

    def _switch_on(self, stack: ExitStack) -> Iterator[tuple[str, SwitchedFault]]:
        faults, after, table = self._pipeline.faults, self._step.after, self._pipeline.table
        others = self._let_another_write if self._step.others and table.key else None
        switches: dict[str, Callable[[], AbstractContextManager[SwitchedFault]]] = {
            "lost_commit": lambda: faults.lose_next_commit(after=after, table=table.name, by=others, required=False),
            "lost_answer": lambda: faults.lose_answer(after=after, required=False),
            "refused_write": lambda: faults.fail_storage("write", after=after, required=False),
            "killed_worker": lambda: faults.kill_worker(required=False),
        }
        for name in self._step.faults:
            if name in switches:
                yield name, stack.enter_context(switches[name]())

    def _let_another_write(self, table: LocalTable) -> None:
        """The rows of another writer, of keys that the batch has not, are there whether the batch gets there or not."""
        rows = [one.row for one in self._step.others if one.row is not None]
        table.upsert(pa.Table.from_pylist([dict(row) for row in rows], schema=table.schema))
        changes = [Change("+U" if self._pipeline.place(row) in self.before else "+I", row) for row in rows]
        self._befallen += [f"another writer: {change}" for change in changes]
        self.before, self.after = self._changed(self.before, changes), self._changed(self.after, changes)

    def _wrong_after_failure(self) -> str | None:
        if not self._pipeline.atomic:
            return None
        wrong = self._wrong(self.after)
        if wrong is None or self._wrong(self.before) is None:
            return None
        return f"the pipeline has failed, and left a part of the batch: beside all of it, {wrong}"

    def _failure_of_redelivery(self) -> str | None:
        self._befallen.append("the batch comes again")
        error = self._called(with_faults=False)
        if error is not None:
            return f"the pipeline fails for a batch that comes again:\n{_traceback(error)}"
        wrong = self._wrong(self.after)
        return None if wrong is None else f"the batch has come again, and {wrong}"

    def _wrong(self, rows: Mapping[Any, Row]) -> str | None:
        pipeline = self._pipeline
        expected = pa.Table.from_pylist(list(rows.values()), schema=self.batch.schema)
        difference = table_difference(pipeline.read(), expected, key=pipeline.key)
        return str(difference) if difference else None


def _shortest(
    pipeline: _Pipeline,
    steps: Sequence[Step],
    failure: _Failure,
    stored: Sequence[Row],
    reset: Callable[[], object],
    shrink_s: float,
) -> tuple[Sequence[Step], _Failure]:
    """A shorter history that fails, and its failure."""
    ends = time.monotonic() + shrink_s
    newest = failure

    def fails(candidate: Sequence[Step]) -> bool:
        nonlocal newest
        reset()
        found = pipeline.run(candidate, stored)
        newest = found or newest
        return found is not None

    try:
        return shrunk(steps, fails, lambda: time.monotonic() < ends), newest
    except Exception:
        # What the failure left cannot be set back: the history that is known to fail is told.
        return steps, failure


def _set_rows(table: LocalTable, rows: Sequence[Row]) -> None:
    table.delete(where="true")
    if rows:
        table.append(pa.Table.from_pylist([dict(row) for row in rows], schema=table.schema))


def _report(seed: int, length: str, failure: _Failure) -> str:
    return "\n".join(
        [
            f"seed {seed}, of {length}: at step {failure.step + 1} {failure.what}",
            "the history:",
            *failure.told,
            f"simulate(…, seed={seed}) has it again; with pytest, --sqlext-seed={seed} --sqlext-seeds=1",
        ]
    )


def _brief(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"


def _traceback(error: Exception) -> str:
    return "".join(traceback.format_exception(error)).rstrip()
