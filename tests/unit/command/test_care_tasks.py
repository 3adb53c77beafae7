"""Work in the background: one after the other, told of, and not asked for again at once."""

from __future__ import annotations

import subprocess
import sys
import threading

from small_tables import Clock
from sqlext.command.care_tasks import CareTasks


def test_tasks_run_one_after_the_other_and_are_told_of() -> None:
    tasks, gate, order = CareTasks(Clock()), threading.Event(), list[str]()

    def first() -> str:
        gate.wait(10)
        order.append("first")
        return "all of it"

    def second() -> str:
        order.append("second")
        raise OSError("no space")

    assert tasks.ask("1", "lake.db.a", "expire", first, pause_ms=60_000)
    assert tasks.ask("2", "lake.db.b", "expire", second, pause_ms=60_000)
    assert not tasks.wait(0.01)
    assert {one.state for one in tasks.tasks()} <= {"waiting", "running"}
    gate.set()
    assert tasks.wait(10)
    assert order == ["first", "second"]
    done, failed = tasks.tasks()
    assert (done.table, done.state, done.told) == ("lake.db.a", "done", "all of it")
    assert (failed.state, failed.told) == ("failed", "no space")
    assert done.asked_ms < (done.begun_ms or 0) < (done.ended_ms or 0)


def test_a_table_is_left_alone_for_a_while() -> None:
    clock = Clock()
    tasks = CareTasks(clock)
    assert tasks.ask("1", "t", "expire", lambda: "", pause_ms=60_000)
    assert not tasks.ask("1", "t", "expire", lambda: "", pause_ms=60_000)
    assert tasks.ask("1", "t", "other", lambda: "", pause_ms=60_000)
    assert tasks.ask("2", "u", "expire", lambda: "", pause_ms=60_000)
    assert tasks.wait(10)
    clock.now_ms += 60_000
    assert tasks.ask("1", "t", "expire", lambda: "", pause_ms=60_000)
    assert tasks.wait(10)
    assert len(tasks.tasks()) == 4


def test_a_thread_that_has_ended_is_followed_by_another() -> None:
    tasks = CareTasks(Clock())
    for number in range(200):
        assert tasks.ask(str(number), "t", "expire", lambda: "", pause_ms=60_000)
        if number % 3 == 0:
            assert tasks.wait(10)
    assert tasks.wait(10)
    assert len(tasks.tasks()) == 100, "the last ones are told of"
    assert {one.state for one in tasks.tasks()} == {"done"}


def test_what_waits_or_runs_is_not_asked_for_again() -> None:
    clock, gate = Clock(), threading.Event()
    tasks = CareTasks(clock)
    assert tasks.ask("1", "t", "compact", lambda: str(gate.wait(10)), pause_ms=0)
    clock.now_ms += 600_000
    assert not tasks.ask("1", "t", "compact", lambda: "", pause_ms=0)
    gate.set()
    assert tasks.wait(10)
    assert tasks.ask("1", "t", "compact", lambda: "", pause_ms=0)
    assert tasks.wait(10)


def test_commits_are_counted_by_table() -> None:
    tasks = CareTasks(Clock())
    assert [tasks.counted_commit(uuid) for uuid in "aaba"] == [0, 1, 0, 2]


def test_the_end_of_the_process_is_no_failure() -> None:
    """The work goes on while Python joins its threads, and then may begin no other."""
    program = """
import time
from concurrent.futures import ThreadPoolExecutor
from sqlext.command.care_tasks import CareTasks

def work():
    time.sleep(0.5)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(str).result()

CareTasks(lambda: 0).ask("1", "lake.db.a", "expire", work, pause_ms=0)
with ThreadPoolExecutor(1) as pool:
    pool.submit(time.sleep, 0)
held = ThreadPoolExecutor(1)
held.submit(time.sleep, 1.5)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
