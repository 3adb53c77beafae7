"""Lists of field paths in properties, as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.spec.field_path import FieldPath, listed_paths, path_text
from sqlext.sql.statements.statement import TableName

NAMES = st.text(st.sampled_from("aA.`, _é-"), min_size=1, max_size=4)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)


@given(st.lists(PATHS, min_size=1, max_size=4))
def test_every_path_comes_back_from_its_text(paths: list[FieldPath]) -> None:
    assert listed_paths(" , ".join(map(path_text, paths))) == tuple(paths)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("id", (("id",),)),
        (" a.b , c ", (("a", "b"), ("c",))),
        ("`a.b`,`x``y`.z", (("a.b",), ("x`y", "z"))),
        ("two words", (("two words",),)),
    ],
)
def test_names_are_told_as_sql_tells_them(text: str, paths: tuple[FieldPath, ...]) -> None:
    assert listed_paths(text) == paths


@pytest.mark.parametrize("text", ["", " ", ".", "a.", ",a", "a,,b", "`a", "a`b", "`a`b"])
def test_other_texts_are_no_lists(text: str) -> None:
    assert listed_paths(text) is None


def test_a_column_with_a_dot_reads_as_another_than_a_field() -> None:
    assert path_text(("a.b",)) == "`a.b`"
    assert path_text(("a", "b")) == "a.b"


def test_a_table_is_told_as_sql_names_it() -> None:
    assert str(TableName(("lake", "my db", "2024", "o`clock", "t_1"))) == "lake.`my db`.`2024`.`o``clock`.t_1"
    assert path_text(("\ud800",)) == "`?`"
