"""The share of rows that decides between the two modes."""

from __future__ import annotations

import pytest

from sqlext.command.change.auto import changed_share
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.manifests.content_file import Content, ContentFile


def task(path: str, rows: int, deleted: int = 0) -> FileScanTask:
    return FileScanTask(ContentFile(Content.DATA, path, "PARQUET", 0, (), rows, 1), 1, 0, deleted_rows=deleted)


@pytest.mark.parametrize(
    ("changed", "share", "rewrites"),
    [
        ({"a": 2}, "20.00%", False),
        ({"a": 3}, "30.00%", True),
        ({"a": 1, "b": 5}, "30.00%", True),
        ({"a": 1, "b": 4}, "25.00%", False),
        ({"a": 10}, "none", False),
        ({"a": 10, "b": 1}, "10.00%", False),
        ({}, "none", False),
    ],
)
def test_it_counts_the_live_rows_of_files_that_keep_some(changed: dict[str, int], share: str, rewrites: bool) -> None:
    found = changed_share([task("a", 10), task("b", 15, deleted=5)], changed, 0.3)
    assert (str(found), found.rewrites) == (share, rewrites)


def test_rows_deleted_before_are_no_rows_that_stay() -> None:
    assert changed_share([task("a", 100, deleted=90)], {"a": 3}, 0.3).rewrites
    assert not changed_share([task("a", 100, deleted=90)], {"a": 2}, 0.3).rewrites
