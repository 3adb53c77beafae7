"""The list of a RETURNING as the list of a SELECT: its stars, and its subqueries."""

from __future__ import annotations

import pytest

from sqlext.errors import UnsupportedError
from sqlext.sql.lowering.returned_rows import ReturnedList
from sqlext.sql.statements.returning_statement import Returning
from unit.sql.lowering.orders import SCHEMA, read

ALL = "`t`.`id`, `t`.`qty`, `t`.`name`"


def _listed(items: str) -> ReturnedList:
    statement = read(f"DELETE FROM t RETURNING {items}")
    assert isinstance(statement, Returning)
    return ReturnedList(statement, SCHEMA)


@pytest.mark.parametrize(
    ("items", "shown"),
    [
        ("*", ALL),
        ("to_json(struct(*))", f"to_json(struct({ALL}))"),
        ("struct(t.*), struct(id, db.t.*)", f"struct({ALL}), struct(id, {ALL})"),
        ("count(*), COUNT ( * )", "count(*), COUNT ( * )"),
        ("count(DISTINCT *)", f"count(DISTINCT {ALL})"),
        ("struct(OLD.*)", "struct(OLD.*)"),
        ("(qty * 2), f(qty, qty * id), id * (qty)", "(qty * 2), f(qty, qty * id), id * (qty)"),
        ("(SELECT struct(*) FROM s), struct(*)", f"(SELECT struct(*) FROM s), struct({ALL})"),
    ],
)
def test_stars(items: str, shown: str) -> None:
    assert _listed(items).select("rows").startswith(f"SELECT {shown}\nFROM ")


@pytest.mark.parametrize("items", ["struct(* EXCEPT (id))", "count(t.*)", "count(*, id)"])
def test_refused_stars(items: str) -> None:
    with pytest.raises(UnsupportedError, match="RETURNING_REFUSED"):
        _listed(items).select("rows")


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("(SELECT 1)", True),
        ("id IN (WITH s AS (SELECT 1) SELECT * FROM s)", True),
        ("id IN (TABLE s), 1", True),
        ("EXISTS (FROM s)", True),
        ("((VALUES (1)))", True),
        ("id, f(values), f(table), (values + 1), f(select_it)", False),
    ],
)
def test_subqueries(items: str, *, found: bool) -> None:
    assert _listed(items).has_subquery is found
