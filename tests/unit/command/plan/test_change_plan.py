"""A plan in the words of EXPLAIN."""

from __future__ import annotations

import pytest

from sqlext.command.plan.change_plan import Alternative, ChangePlan, Way, Writer
from sqlext.thresholds import ALL_ROWS


@pytest.mark.parametrize(
    ("writer", "text"),
    [
        (Writer(0), "tasks"),
        (Writer(0, tried_rows=9), "tasks"),
        (Writer(4096, given=True), "the driver, which has the rows"),
        (Writer(4096, ALL_ROWS), "the driver up to 4,096 bytes, else tasks"),
        (Writer(4096), "the driver if Spark expects at most 4,096 bytes, else tasks"),
        (
            Writer(4096, tried_rows=1000),
            "the driver if Spark expects at most 4,096 bytes, or finds at most 1,000 rows, else tasks",
        ),
        (
            Writer(4096, 10, completed_rows=2000, tries_filtered=True),
            "the driver if Spark expects at most 4,096 bytes, or a condition leaves at most 2,000 rows, else tasks",
        ),
    ],
)
def test_who_writes(writer: Writer, text: str) -> None:
    assert str(writer) == text


def test_what_is_done_instead_stands_behind_its_condition() -> None:
    last = ChangePlan(Way.COPY_ON_WRITE, "the share is large", Writer(0))
    many = ChangePlan(Way.AUTO, "write.merge.mode is auto", Writer(0), rewrites=Alternative("many rows go", last))
    large = Alternative("the source is large", many)
    plan = ChangePlan(Way.LOOK_UP, "the source is small", Writer(9, 9), too_many=large)
    assert list(plan.lines()) == [
        "key upsert by position: the source is small",
        "  written by the driver",
        "  the source is large: auto: write.merge.mode is auto",
        "    written by tasks",
        "    many rows go: copy-on-write: the share is large",
        "      written by tasks",
    ]


def test_rows_of_rewritten_files_are_not_tried_on_the_driver() -> None:
    for way in (Way.COPY_ON_WRITE, Way.COMPLETED_BY_TASKS):
        _, written = ChangePlan(way, "the mode", Writer(4096, 9)).lines()
        assert written.startswith("  written by the driver if the files that lose a row have at most 4,096 bytes, else")
    for way, found in ((Way.COPY_BY_QUERY, ""), (Way.AUTO, ", or finds at most 9 rows")):
        _, written = ChangePlan(way, "the mode", Writer(4096, 9)).lines()
        assert written == f"  written by the driver if Spark expects at most 4,096 bytes{found}, else tasks"


def test_a_change_without_new_rows_has_no_writer() -> None:
    assert list(ChangePlan(Way.METADATA_DELETE, "all rows of 2 files go", Writer(0), has_new_rows=False).lines()) == [
        "metadata alone: all rows of 2 files go"
    ]
