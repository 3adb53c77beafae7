"""The simulator of pipelines: right ones pass whatever befalls them, and wrong ones are found, with the seed that has
them again."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sqlext.errors import SqlextError
from sqlext.local import LocalCatalog, LocalTable
from sqlext.testing import TemporaryCatalog, make_table
from sqlext.testing.simulator import Batch, Change, FaultRates, SimulationFailed, simulate, simulate_seeds
from sqlext.testing.simulator.change_history import KeyChange, Step, history_of
from sqlext.testing.simulator.random_values import random_row
from sqlext.testing.simulator.shrinking import shrunk

NO_FAULTS = FaultRates(0, 0, 0, 0, 0)
ALL_TYPES = (
    "id BIGINT, place STRING, flag BOOLEAN, small SMALLINT, number INT, price DECIMAL(9, 2), part FLOAT, share DOUBLE,"
    " day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, raw BINARY, tags ARRAY<STRING>, sizes MAP<STRING, INT>,"
    " address STRUCT<street: STRING, rooms: ARRAY<INT>> NOT NULL"
)


@pytest.fixture
def lake(tmp_path: Path) -> LocalCatalog:
    return TemporaryCatalog.within(tmp_path).open()


@pytest.fixture
def orders(lake: LocalCatalog) -> LocalTable:
    return make_table(lake, "id BIGINT, buyer STRING, quantity INT", name="db.orders", key="id")


def applies(table: LocalTable) -> Callable[[Batch], object]:
    return lambda batch: table.upsert(batch.rows())


# Pipelines that are right


@pytest.mark.parametrize("properties", [{}, {"write.upsert.mode": "equality"}, {"write.merge.mode": "copy-on-write"}])
def test_an_upsert_of_a_batch_is_right(lake: LocalCatalog, properties: Mapping[str, str]) -> None:
    table = make_table(lake, ALL_TYPES, name="db.t", key=["id", "place"], properties=properties)
    simulate(applies(table), table, seed=len(properties.get("write.upsert.mode", "")), steps=10)


def test_a_pipeline_that_appends_and_knows_its_batches_is_right(lake: LocalCatalog) -> None:
    """Amounts are added up, so that a batch that is written twice is seen."""
    engine = {"merge-engine": "aggregation", "fields.total.aggregate-function": "sum"}
    totals = make_table(lake, "id BIGINT, total BIGINT", name="db.totals", key="id", properties=engine)

    def add(batch: Batch) -> None:
        totals.upsert(batch.upserted(), batch=("totals", batch.number))

    def summed(stored: Mapping[str, Any] | None, change: Change) -> Mapping[str, Any] | None:
        if change.kind == "-D" or stored is None:
            return stored if change.kind == "-D" else change.row
        return {**change.row, "total": stored["total"] + change.row["total"]}

    amounts = {"total": lambda rng: rng.randrange(1, 100)}
    simulate_seeds(range(2), add, totals, model=summed, values=amounts)
    with pytest.raises(SimulationFailed, match="different rows"):
        simulate_seeds(
            range(5), lambda batch: totals.upsert(batch.upserted()), totals, model=summed, values=amounts, shrink_s=0
        )


def test_a_pipeline_of_several_commits_is_right_if_it_need_not_be_atomic(orders: LocalTable) -> None:
    def apply(batch: Batch) -> None:
        orders.delete(batch.deleted() or [{"id": -1}])
        orders.upsert(batch.upserted())

    answers = FaultRates(0, 0.6, 0, 0, 0)
    simulate(apply, orders, seed=1, rates=answers, atomic=False)
    with pytest.raises(SimulationFailed, match="has failed, and left a part of the batch"):
        simulate_seeds(range(10), apply, orders, rates=answers, shrink_s=0)


def test_rows_of_the_beginning_stay(orders: LocalTable) -> None:
    orders.append([{"id": -100, "buyer": "old", "quantity": 1}])
    simulate(applies(orders), orders, seed=1, rates=NO_FAULTS)
    assert orders.to_arrow(where="id = -100").num_rows == 1


# Pipelines that are wrong


def swallowing(table: LocalTable) -> Callable[[Batch], object]:
    def apply(batch: Batch) -> None:
        try:
            table.upsert(batch.rows())
        except SqlextError:
            return

    return apply


def appending(table: LocalTable) -> Callable[[Batch], object]:
    return lambda batch: table.append(batch.upserted())


def trusting(table: LocalTable) -> Callable[[Batch], object]:
    """Takes a batch for written if it has been begun."""
    begun: set[int] = set()

    def apply(batch: Batch) -> None:
        if batch.number not in begun:
            begun.add(batch.number)
            table.upsert(batch.rows())

    return apply


def rewriting(table: LocalTable) -> Callable[[Batch], object]:
    """Reads the table, and writes it back without a look at what has come meanwhile."""

    def apply(batch: Batch) -> None:
        rows = {row["id"]: row for row in table.to_arrow().to_pylist()}
        rows |= {row["id"]: row for row in batch.upserted()}
        gone = [row["id"] for row in batch.deleted()]
        after = pa.Table.from_pylist([row for id, row in rows.items() if id not in gone], schema=table.schema)
        kept = ", ".join(str(id) for id in rows if id not in gone) or "NULL"
        table.upsert(after)
        table.delete(where=f"id NOT IN ({kept})")

    return apply


def forgetting_deletes(table: LocalTable) -> Callable[[Batch], object]:
    return lambda batch: table.upsert(batch.upserted())


def without_nulls(table: LocalTable) -> Callable[[Batch], object]:
    return lambda batch: table.upsert(
        [
            {name: "" if value is None and name == "buyer" else value for name, value in row.items()}
            for row in batch.rows()
        ]
    )


@pytest.mark.parametrize(
    ("wrong", "rates", "said"),
    [
        (swallowing, FaultRates(lost_answer=0, lost_commit=0), "the pipeline has returned, and the tables differ"),
        (appending, NO_FAULTS, "the tables differ"),
        (
            trusting,
            FaultRates(lost_answer=0, lost_commit=0, redelivery=0),
            "missing rows|different rows|unexpected rows",
        ),
        (rewriting, FaultRates(1, 0, 0, 0, 0), "missing rows"),
        (forgetting_deletes, NO_FAULTS, "unexpected rows: 1"),
        (without_nulls, NO_FAULTS, "buyer is '', expected None"),
    ],
)
def test_a_wrong_pipeline_is_found(
    orders: LocalTable, wrong: Callable[[LocalTable], Callable[[Batch], object]], rates: FaultRates, said: str
) -> None:
    apply = wrong(orders)
    with pytest.raises(SimulationFailed, match=said) as caught:
        simulate_seeds(range(20), apply, orders, rates=rates, shrink_s=0 if wrong is trusting else 10)
    again = caught.value.seed
    assert f"--sqlext-seed={again}" in str(caught.value)
    orders.delete(where="true")
    with pytest.raises(SimulationFailed, match=f"seed {again}"):
        simulate(wrong(orders), orders, seed=again, rates=rates, shrink_s=0)


def test_a_pipeline_that_fails_without_a_fault_is_told_with_its_stack(orders: LocalTable) -> None:
    def apply(batch: Batch) -> None:
        raise KeyError("the bug")

    with pytest.raises(
        SimulationFailed, match=r"(?s)at step 1 the pipeline fails without a fault.*KeyError: 'the bug'"
    ):
        simulate(apply, orders, seed=3)


def test_a_pipeline_that_fails_after_its_fault_is_told(orders: LocalTable) -> None:
    failed: list[int] = []

    def apply(batch: Batch) -> None:
        if batch.number in failed:
            raise KeyError("the bug")
        try:
            orders.upsert(batch.rows())
        except SqlextError:
            failed.append(batch.number)
            raise

    with pytest.raises(SimulationFailed, match=r"(?s)fails again and again.*the history:.*refused write"):
        simulate_seeds(range(10), apply, orders, rates=FaultRates(0, 0, 0.5, 0, 0))


def test_a_batch_that_comes_again(orders: LocalTable) -> None:
    seen: set[int] = set()

    def apply(batch: Batch) -> None:
        if batch.number in seen:
            orders.delete(where="true")
        else:
            orders.upsert(batch.rows())
        seen.add(batch.number)

    with pytest.raises(SimulationFailed, match=r"(?s)the batch has come again, and the tables differ.*missing rows"):
        simulate_seeds(range(5), apply, orders, rates=FaultRates(0, 0, 0, 0, 1))


def test_a_history_is_shortened(orders: LocalTable) -> None:
    with pytest.raises(SimulationFailed, match=r"of 30 steps, shortened to 2: at step 2") as caught:
        simulate(appending(orders), orders, seed=1, steps=30, keys=30, rates=NO_FAULTS, shrink_s=120)
    assert sum(str(caught.value).count(kind) for kind in ("+I", "+U", "-D")) == 2


def test_a_history_that_cannot_be_set_back_is_told_as_it_was(orders: LocalTable) -> None:
    def reset() -> None:
        raise OSError("gone")

    with pytest.raises(SimulationFailed, match="the history:") as caught:
        simulate(appending(orders), orders, seed=1, rates=NO_FAULTS, reset=reset)
    assert "shortened" not in str(caught.value)


# Histories


def test_the_same_seed_gives_the_same_history(orders: LocalTable) -> None:
    given: dict[str, Any] = {"steps": 30, "keys": 5, "most_changes": 3, "rates": FaultRates(), "values": {}}
    first = history_of(7, orders.schema, ["id"], **given)
    assert first == history_of(7, orders.schema, ["id"], **given)
    assert first != history_of(8, orders.schema, ["id"], **given)
    assert {fault for step in first for fault in step.faults} == {
        "lost_commit",
        "lost_answer",
        "refused_write",
        "redelivery",
    }
    assert len({change.key for step in first for change in step.changes}) == 5
    assert any(change.row is None for step in first for change in step.changes)
    for step in first:
        assert not {one.key for one in step.changes} & {one.key for one in step.others}


def test_what_cannot_be_drawn_is_refused(lake: LocalCatalog, orders: LocalTable) -> None:
    flags = make_table(lake, "flag BOOLEAN", name="db.flags", key="flag")
    with pytest.raises(ValueError, match="of the key flag there are 2 different values"):
        simulate(applies(flags), flags, seed=1)
    simulate(applies(flags), flags, seed=1, keys=2)
    without_key = make_table(lake, "id INT", name="db.without")
    with pytest.raises(ValueError, match="has no key"):
        simulate(applies(without_key), without_key, seed=1)
    with pytest.raises(ValueError, match="lost_answer=2 is no share"):
        FaultRates(lost_answer=2)
    schema = pa.schema([pa.field("t", pa.time64("us"), nullable=False)])
    with pytest.raises(ValueError, match="no values are drawn for t of the type time64"):
        random_row(schema, random.Random(1), {})


@pytest.mark.parametrize("given", [{"steps": 0}, {"keys": 0}, {"most_changes": -1}])
def test_a_history_in_which_nothing_would_happen_is_refused(orders: LocalTable, given: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="tests nothing"):
        simulate(applies(orders), orders, seed=1, **given)


@pytest.mark.parametrize("given", [{"values": {"nope": lambda rng: 1}}, {"key": ["nope"]}, {"key": "nope"}])
def test_columns_that_the_table_has_not_are_refused(orders: LocalTable, given: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="the table has no column nope"):
        simulate(applies(orders), orders, seed=1, **given)


def test_the_key_may_be_one_name(orders: LocalTable) -> None:
    simulate(applies(orders), orders, seed=1, steps=2, key=orders.key[0])


def test_values_of_ones_own(lake: LocalCatalog) -> None:
    columns = "id STRING, amount DECIMAL(9, 2), CONSTRAINT some CHECK (amount > 0)"
    table = make_table(lake, columns, name="db.t", key="id")
    values = {"id": lambda rng: f"order-{rng.randrange(100)}", "amount": lambda rng: Decimal(rng.randrange(1, 9))}
    simulate(applies(table), table, seed=1, values=values)
    assert all(row["id"].startswith("order-") for row in table.to_arrow().to_pylist())


@pytest.mark.parametrize("seed", range(10))
def test_shrinking_leaves_what_is_needed(seed: int) -> None:
    rng = random.Random(seed)
    steps = [
        Step(tuple(KeyChange((key,), None) for key in rng.sample(range(20), 4)), ("lost_commit", "redelivery"))
        for _ in range(20)
    ]
    needed = rng.sample(range(20), 2)
    asked: list[Sequence[Step]] = []

    def fails(candidate: Sequence[Step]) -> bool:
        asked.append(candidate)
        keys = {change.key[0] for step in candidate for change in step.changes}
        return set(needed) <= keys

    if not fails(steps):
        return
    left = shrunk(steps, fails, lambda: True)
    assert sorted(change.key[0] for step in left for change in step.changes) == sorted(needed)
    assert not any(step.faults for step in left)
    assert len(asked) < 400
    assert shrunk(steps, fails, lambda: False) == steps


def test_a_batch_in_its_forms(orders: LocalTable) -> None:
    new, gone = {"id": 1, "buyer": None, "quantity": 2}, {"id": 2, "buyer": "Bo", "quantity": 3}
    batch = Batch(1, (Change("+I", new), Change("-D", gone)), orders.schema, ("id",))
    assert batch.rows() == [{**new, "_row_kind": "+I"}, {**gone, "_row_kind": "-D"}]
    assert (batch.upserted(), batch.deleted()) == ([new], [{"id": 2}])
    assert batch.to_arrow().to_pylist() == batch.rows()
    assert batch.to_arrow().schema.names == ["id", "buyer", "quantity", "_row_kind"]
    assert str(batch.changes[1]) == "-D id=2, buyer='Bo', quantity=3"
