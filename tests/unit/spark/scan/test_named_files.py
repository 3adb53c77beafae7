"""Filters on `_file` leave the files that they name, and nothing else of a filter is taken for one."""

from __future__ import annotations

import pytest

from sqlext.spark.scan.named_files import named_files
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField, StringType

SCHEMA = Schema((NestedField(1, "name", StringType()),))


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ([], None),
        ([["=", ["name"], "a"]], None),
        ([["=", ["_file"], "a"]], {"a"}),
        ([["in", ["_file"], ["a", "b"]], ["in", ["_file"], ["b", "c"]], ["=", ["name"], "x"]], {"b"}),
        ([["=", ["_file"], "a"], ["=", ["_file"], "b"]], set()),
        ([["or", ["=", ["_file"], "a"], ["=", ["name"], "x"]]], None),
        ([["not", ["=", ["_file"], "a"]]], None),
        ([["=", ["name", "_file"], "a"]], None),
        ([["starts with", ["_file"], "a"], [">", ["_file"], "a"]], None),
    ],
)
def test_files_that_conjuncts_name(filters: list[list[object]], left: set[str] | None) -> None:
    assert named_files(filters, SCHEMA) == left


def test_a_column_of_that_name_hides_the_file() -> None:
    schema = Schema((NestedField(1, "_FILE", StringType()),))
    assert named_files([["=", ["_file"], "a"]], schema) is None
