"""Faults of a test: what the code under test meets, and that nothing is left of them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

import sqlext.local
from small_tables import files_below
from sqlext.errors import CommitStateUnknown, DataError, SqlextError, StorageError, ValidationConflict
from sqlext.local import LocalCatalog, LocalTable
from sqlext.local.local_catalog import opened_by
from sqlext.local.sessionless import CATALOG_OPENER
from sqlext.storage.object_store import S3Settings
from sqlext.storage.scheme_io import SchemeIO
from sqlext.storage.vended_io import VendedIO
from sqlext.testing import FaultNotMet, Faults, TemporaryCatalog, assert_tables_equal, make_table
from sqlext.testing.strikes import Strikes
from sqlext.testing.watched_io import WatchedIO

COLUMNS = "id BIGINT, buyer STRING"
ADA, BO, EVE = {"id": 1, "buyer": "Ada"}, {"id": 2, "buyer": "Bo"}, {"id": 3, "buyer": "Eve"}


@pytest.fixture(params=["folder", "sqlite"])
def catalog(tmp_path: Path, request: pytest.FixtureRequest) -> TemporaryCatalog:
    return TemporaryCatalog.within(tmp_path, kind=request.param)


@pytest.fixture
def lake(catalog: TemporaryCatalog) -> LocalCatalog:
    return catalog.open()


@pytest.fixture
def orders(lake: LocalCatalog) -> LocalTable:
    return make_table(lake, COLUMNS, name="db.orders", key="id", rows=[ADA])


def operations(table: LocalTable) -> list[str]:
    return table.metadata("snapshots").column("operation").to_pylist()


def test_a_lost_commit_is_tried_again_on_the_version_of_the_other(orders: LocalTable) -> None:
    with Faults(orders).lose_next_commit() as lost:
        assert lost.met == 0
        orders.append([BO])
        assert lost.met == 1
    assert lost.met == 1
    assert_tables_equal(orders, [ADA, BO])
    snapshots = orders.metadata("snapshots").to_pylist()
    assert [dict(one["summary"]).get("added-records") for one in snapshots] == ["1", None, "1"]
    assert snapshots[2]["parent_id"] == snapshots[1]["snapshot_id"]


def test_commits_lost_one_after_the_other(orders: LocalTable) -> None:
    with Faults(orders).lose_next_commit(times=3):
        orders.append([BO])
    assert len(operations(orders)) == 5


def test_another_writer_of_the_same_rows(orders: LocalTable) -> None:
    """An upsert runs again, on what the other has written; without reruns it conflicts."""

    with Faults(orders).lose_next_commit(by=lambda other: other.upsert([{"id": 1, "buyer": "other"}, EVE])):
        orders.upsert([{"id": 1, "buyer": "ours"}])
    assert_tables_equal(orders, [{"id": 1, "buyer": "ours"}, EVE])


def test_an_error_of_the_other_writer_is_the_tests(orders: LocalTable) -> None:
    with pytest.raises(ZeroDivisionError), Faults(orders).lose_next_commit(by=lambda other: 1 // 0):
        orders.append([BO])
    assert_tables_equal(orders, [ADA, BO])


def test_a_conflict_that_the_caller_sees(lake: LocalCatalog) -> None:
    none = {"write.conflict.max-reruns": "0"}
    orders = make_table(lake, COLUMNS, name="db.once", key="id", rows=[ADA], properties=none)
    with Faults(orders).lose_next_commit(by=lambda other: other.delete([{"id": 1}])), pytest.raises(ValidationConflict):
        orders.upsert([{"id": 1, "buyer": "ours"}])
    assert_tables_equal(orders, [], key="id")


def test_a_lost_answer_is_unknown_to_the_caller_and_has_landed(orders: LocalTable) -> None:
    with pytest.raises(CommitStateUnknown, match=r"COMMIT_STATE_UNKNOWN.*commit id"), Faults(orders).lose_answer():
        orders.append([BO])
    assert_tables_equal(orders, [ADA, BO])


def test_a_lost_answer_that_is_found_again(orders: LocalTable) -> None:
    with Faults(orders).lose_answer(checked=True):
        assert orders.append([BO]) == 1
    assert_tables_equal(orders, [ADA, BO])
    assert operations(orders) == ["append", "append"]


def test_a_batch_that_is_repeated_after_a_lost_answer_is_there_once(orders: LocalTable) -> None:
    with Faults(orders).lose_answer(), pytest.raises(CommitStateUnknown):
        orders.append([BO], batch=("nightly", 7))
    assert orders.append([BO], batch=("nightly", 7)) == 0
    assert_tables_equal(orders, [ADA, BO])


def test_the_creation_of_a_table_loses_its_answer_but_no_race(lake: LocalCatalog) -> None:
    lake.create_namespace("db")
    with Faults(lake).lose_next_commit(required=False) as lost, Faults(lake).lose_answer(checked=True):
        lake.create_table(f"CREATE TABLE db.t ({COLUMNS})")
    assert lost.met == 0
    assert lake.tables("db") == ["db.t"]


@pytest.mark.parametrize("kind", ["data file", "manifest", "manifest list", "table metadata", None])
def test_a_store_that_refuses_leaves_nothing(orders: LocalTable, tmp_path: Path, kind: str | None) -> None:
    before = files_below(tmp_path / "warehouse")
    with Faults(orders).fail_storage("write", kind), pytest.raises(StorageError, match=r"STORAGE_FAILURE.*Writing of"):
        orders.append([BO])
    assert files_below(tmp_path / "warehouse") == before
    orders.append([EVE])
    assert_tables_equal(orders, [ADA, EVE])


def test_a_store_that_cannot_be_read(catalog: TemporaryCatalog, orders: LocalTable) -> None:
    table = catalog.open().table("db.orders")
    with Faults(table).fail_storage("read", "data file", times=None) as refused:
        for _ in range(2):
            with pytest.raises(StorageError, match="Reading of"):
                table.to_arrow()
    assert refused.met == 1
    assert_tables_equal(table, [ADA])


def test_files_by_their_path(lake: LocalCatalog, orders: LocalTable) -> None:
    audit = make_table(lake, COLUMNS, name="db.audit")
    with Faults(lake).fail_storage("write", path="/audit/"):
        orders.append([BO])
        with pytest.raises(StorageError):
            audit.append([BO])
    assert_tables_equal(orders, [ADA, BO])
    assert_tables_equal(audit, [], key="id")


def test_faults_after_others_and_of_a_table(lake: LocalCatalog, orders: LocalTable) -> None:
    audit = make_table(lake, COLUMNS, name="db.audit")
    with Faults(lake).lose_answer(after=1):
        orders.append([BO])
        with pytest.raises(CommitStateUnknown, match=r"lake\.db\.audit"):
            audit.append([BO])
    for name in ("db.audit", "lake.db.audit"):
        with Faults(lake).lose_next_commit(table=name):
            orders.append([EVE])
            audit.append([EVE])
    assert operations(orders) == ["append"] * 4
    assert operations(audit) == ["append"] * 5


@pytest.mark.parametrize("name", ["db.`my table`", "db.`a.b`"])
def test_names_with_dots_and_blanks(lake: LocalCatalog, name: str) -> None:
    table = make_table(lake, COLUMNS, name=name, key="id")
    for named in (name, table.name, f"lake.{name}"):
        with Faults(lake).lose_next_commit(table=named):
            table.upsert([BO])


def test_faults_of_one_with_statement(orders: LocalTable) -> None:
    faults = Faults(orders)
    with faults.lose_next_commit() as lost, faults.lose_answer(after=0, checked=True) as answer:
        orders.append([BO])
    assert (lost.met, answer.met) == (1, 1)
    assert_tables_equal(orders, [ADA, BO])


def test_blocks_that_end_in_the_order_in_which_they_began(orders: LocalTable) -> None:
    faults = Faults(orders)
    first, second = faults.fail_storage("write", times=None, required=False), faults.lose_next_commit()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    orders.append([BO])
    second.__exit__(None, None, None)
    with faults.lose_next_commit() as lost:
        orders.append([EVE])
    assert lost.met == 1


def test_a_fault_that_is_not_met_fails_the_test(orders: LocalTable) -> None:
    faults = Faults(orders)
    unmet = [
        (
            faults.lose_next_commit(table="db.x"),
            r"lose_next_commit was to happen once, and has not happened: no commit of",
        ),
        (faults.lose_answer(2, checked=True), "lose_answer was to happen 2 times, and has happened once"),
        (
            faults.fail_storage("delete", "deletion vector", times=None),
            "kind 'deletion vector' was asked of the store to",
        ),
        (faults.kill_worker(), "no Python worker of Spark wrote a file"),
    ]
    for fault, said in unmet:
        with pytest.raises(FaultNotMet, match=said), fault:
            orders.append([BO])
    with faults.lose_next_commit(required=False):
        pass


def test_another_error_is_not_hidden_by_a_fault_not_met(orders: LocalTable) -> None:
    with pytest.raises(DataError), Faults(orders).lose_next_commit():
        orders.append([{"id": None, "buyer": "x"}])


def test_arguments_that_make_no_sense(lake: LocalCatalog) -> None:
    faults = Faults(lake)
    wrong: list[Callable[[], object]] = [
        lambda: faults.fail_storage("burn").__enter__(),  # type: ignore[arg-type]
        lambda: faults.fail_storage("read", "avro").__enter__(),
        lambda: faults.lose_answer(0).__enter__(),
        lambda: faults.lose_next_commit(after=-1).__enter__(),
    ]
    for call in wrong:
        with pytest.raises(ValueError, match=r"is not asked to|are called|at least once|less than nothing"):
            call()


@pytest.mark.parametrize("ends", ["returns", "raises"])
def test_nothing_is_left_of_a_fault(
    orders: LocalTable, ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    before, opener = opened_by(orders).of("lake"), CATALOG_OPENER.get()
    faults = Faults(orders)
    outer = pytest.raises(ZeroDivisionError) if ends == "raises" else nullcontext()
    storage = faults.fail_storage("write", times=None, required=False)
    with outer, faults.lose_answer(5, required=False), storage:  # type: ignore[attr-defined]
        assert opened_by(orders).of("lake") is not before
        with pytest.raises(StorageError):
            orders.append([BO])
        _ = 1 / (0 if ends == "raises" else 1)
    assert opened_by(orders).of("lake") is before
    assert CATALOG_OPENER.get() is opener
    assert list(temporary.iterdir()) == []
    orders.append([BO])
    assert_tables_equal(orders, [ADA, BO])


def test_catalogs_that_the_code_under_test_opens(catalog: TemporaryCatalog, orders: LocalTable) -> None:
    with Faults().lose_next_commit():
        inside = sqlext.local.open(catalog.options, name=catalog.name)
        assert isinstance(inside, LocalCatalog)
        inside.table("db.orders").append([BO])
    assert len(operations(orders)) == 3
    inside.table("db.orders").append([EVE])
    assert len(operations(orders)) == 4


def test_a_catalog_out_of_reach_is_told(catalog: TemporaryCatalog, orders: LocalTable) -> None:
    with pytest.raises(FaultNotMet, match=r"Faults\(lake\)"), Faults().lose_next_commit():
        orders.append([BO])
    faults = Faults()
    faults.reach(orders)
    with faults.lose_next_commit():
        orders.append([EVE])


def test_threads_meet_a_fault_once(orders: LocalTable) -> None:
    with Faults(orders).lose_answer(3) as lost, ThreadPoolExecutor(4) as pool:
        outcomes = [pool.submit(orders.append, [{"id": 10 + number, "buyer": "x"}]) for number in range(8)]
        errors = [outcome.exception() for outcome in outcomes]
    assert lost.met == 3
    assert sum(isinstance(error, CommitStateUnknown) for error in errors) == 3
    assert orders.to_arrow().num_rows == 9


def test_care_in_the_background_meets_none(orders: LocalTable) -> None:
    errors: list[BaseException] = []

    def care() -> None:
        try:
            orders.append([BO])
        except SqlextError as error:
            errors.append(error)

    with Faults(orders).lose_answer(required=False) as lost:
        thread = threading.Thread(target=care, name="sqlext-care")
        thread.start()
        thread.join()
    assert (errors, lost.met) == ([], 0)


def test_strikes_are_shared_by_processes() -> None:
    strikes = Strikes.of(4, after=1)
    script = "import pickle, sys; print(sum(pickle.loads(bytes.fromhex(sys.argv[1])).take() for _ in range(3)))"
    command = [sys.executable, "-c", script, pickle.dumps(strikes).hex()]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    taken = [int(process.communicate()[0]) for process in processes]
    assert (sum(taken), strikes.met, strikes.take()) == (4, 4, False)
    strikes.end()
    assert not os.path.exists(strikes.folder)
    assert not strikes.take()
    endless = Strikes.of(None)
    assert (endless.met, endless.take(), endless.take(), endless.met) == (0, True, True, 1)
    endless.end()
    assert not endless.take()


@pytest.mark.parametrize("io", [SchemeIO(), VendedIO(S3Settings())], ids=["own", "vended"])
def test_a_store_on_its_way_to_a_worker_takes_the_fault_with_it(io: SchemeIO) -> None:
    with io.seen_through(partial(WatchedIO, around=_refuse)):
        there = pickle.loads(pickle.dumps(io))
        for store in (io, there):
            with pytest.raises(StorageError):
                store.read("/nowhere/a.parquet")
    with pytest.raises(FileNotFoundError):
        io.read("/nowhere/a.parquet")


def _refuse(operation: str, location: str, effect: Callable[[], object]) -> object:
    raise StorageError("STORAGE_FAILURE", operation=operation, path=location, reason="of the test")


def test_a_worker_counts_the_strikes_of_its_driver(lake: LocalCatalog, orders: LocalTable) -> None:
    io = opened_by(orders).of("lake").catalog.io
    with Faults(orders).fail_storage("read", path="a.parquet") as refused:
        there = pickle.loads(pickle.dumps(io))
        with pytest.raises(StorageError):
            there.read("/nowhere/a.parquet")
        assert refused.met == 1
        with pytest.raises(FileNotFoundError):
            io.read("/nowhere/a.parquet")
    with pytest.raises(FileNotFoundError):
        there.read("/nowhere/a.parquet")
