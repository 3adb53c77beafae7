"""What long work tells of itself."""

from __future__ import annotations

from sqlext.spark.session.work_progress import Step, WorkProgress


def test_items_are_counted_as_they_are_taken() -> None:
    work, seen = WorkProgress(), []
    assert work.now is None
    for item in work.counted("delete files", "abc", 3):
        seen.append((item, work.now))
    assert seen == [(item, Step("delete files", number, 3)) for number, item in enumerate("abc")]
    assert work.now is None


def test_work_that_fails_or_stops_is_no_step_any_more() -> None:
    work = WorkProgress()
    items = work.counted("list files", iter("abc"))
    next(items)
    assert work.now == Step("list files", 0)
    items.close()  # type: ignore[attr-defined]
    assert work.now is None


def test_results_in_threads_are_those_without() -> None:
    work = WorkProgress()
    each = work.each("check files")
    assert list(each(lambda number: number * 2, range(100))) == [number * 2 for number in range(100)]
    assert work.now is None
    assert list(each(str, iter([]))) == []
