"""Files divided into sets of about equal sizes."""

from __future__ import annotations

from operator import attrgetter

from sqlext.scan.even_parts import divided
from sqlext.spec.manifests.content_file import Content, ContentFile


def file(rows: int) -> ContentFile:
    return ContentFile(Content.DATA, str(rows), "PARQUET", 0, (), rows, 1)


def test_sizes_are_about_equal() -> None:
    found = divided([file(rows) for rows in (1, 2, 3, 4, 5, 9)], 3, attrgetter("record_count"))
    assert found == [{"9"}, {"5", "2", "1"}, {"4", "3"}]


def test_there_are_no_more_sets_than_files() -> None:
    assert divided([file(7), file(8)], 5, attrgetter("record_count")) == [{"8"}, {"7"}]
    assert divided([], 2, attrgetter("record_count")) == []
