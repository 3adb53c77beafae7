from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.catalog.identifier import TableIdentifier, check_name, check_namespace, quoted
from sqlext.errors import AnalysisError


@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", "...", ".hidden", "../../x", "a/b", "a\\b", "a\0b", "a\nb", "a:b", " a", "a ", "%2e%2e", "a%2Fb",
        "a%5cb", "x" * 201, "ä" * 101, "\ud800",
    ],
)  # fmt: skip
def test_names_that_cannot_be_a_folder_of_their_own_are_refused(name: str) -> None:
    for refused in (lambda: check_name(name), lambda: TableIdentifier(("db",), name), lambda: check_namespace((name,))):
        with pytest.raises(AnalysisError) as raised:
            refused()
        assert raised.value.condition == "INVALID_NAME"


@pytest.mark.parametrize(
    "name", ["orders", "Orders-2024", "a.b", "größe", "1st", "a%20b", "x" * 200, "metadata", "注文"]
)
def test_other_names_are_taken(name: str) -> None:
    assert TableIdentifier(("db", name), name).name == name


def test_a_table_needs_a_namespace() -> None:
    with pytest.raises(AnalysisError, match="needs a namespace"):
        TableIdentifier((), "t")


def test_an_identifier_reads_as_sql() -> None:
    assert str(TableIdentifier(("db", "two words"), "t`1")) == "db.`two words`.`t``1`"
    assert quoted("lake", "db") == "lake.db"


@given(st.text())
def test_whatever_is_taken_is_one_path_component(name: str) -> None:
    try:
        check_name(name)
    except AnalysisError:
        return
    assert name not in ("", ".", "..")
    assert not set(name) & set("/\\:\0\n")
