"""In how many threads small files are read."""

from __future__ import annotations

import threading

import pytest

from sqlext.storage.in_threads import each_below, in_threads


@pytest.mark.parametrize(
    ("location", "in_the_callers"),
    [("file:///lake/t", True), ("/lake/t", True), ("s3://lake/t", False), ("s3a://lake/t", False)],
)
def test_files_of_a_local_disk_are_read_in_the_thread_of_the_caller(location: str, in_the_callers: bool) -> None:
    threads = list(each_below(location)(lambda number: threading.get_ident(), range(20)))
    assert (set(threads) == {threading.get_ident()}) == in_the_callers
    assert in_the_callers or threading.get_ident() not in threads


def test_results_are_in_the_order_of_the_items() -> None:
    first_may_end = threading.Event()

    def doubled(number: int) -> int:
        if number == 0:
            assert first_may_end.wait(30)
        elif number == 1:
            first_may_end.set()
        return number * 2

    assert list(in_threads(doubled, range(100), 2)) == [number * 2 for number in range(100)]


def test_an_error_is_raised_where_its_result_is_taken() -> None:
    results = in_threads(lambda number: 6 // number, [3, 2, 0, 1], 2)
    assert [next(results), next(results)] == [2, 3]
    with pytest.raises(ZeroDivisionError):
        next(results)
