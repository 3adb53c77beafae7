"""What the shim is told of the places of an error in several texts."""

from __future__ import annotations

from typing import Any

from sqlext.spark.bridge.statement_errors import error_places

STATEMENT = "UPDATE t\nSET v = upper(nobody)"
LOWERED = "/*sqlext*/SELECT upper(nobody) AS `v`, 'U' AS __operation FROM t"


def told(**piece: Any) -> Any:
    (place,) = error_places({"statement": STATEMENT, "pieces": [piece]})["places"]
    return place


def test_a_piece_of_lowered_sql_is_told_where_the_statement_has_it() -> None:
    start = LOWERED.index("nobody")
    expected = {"is_lowered": True, "place": {"offset": STATEMENT.index("nobody"), "line": 2, "position": 14}}
    assert told(text=LOWERED, start=start, stop=start + len("nobody") - 1) == expected
    assert told(text=LOWERED, line=1, position=start) == expected


def test_a_piece_that_the_statement_has_not_is_nowhere() -> None:
    start = LOWERED.index("__operation")
    nowhere = {"is_lowered": True, "place": None}
    assert told(text=LOWERED, start=start, stop=start + len("__operation") - 1) == nowhere
    assert told(text=LOWERED, start=None, stop=None) == nowhere
    assert told(text=LOWERED, line=None, position=None) == nowhere


def test_a_piece_of_another_text_stays() -> None:
    stays = {"is_lowered": False, "place": None}
    assert told(text="SELECT nobody", start=7, stop=12) == stays
    assert told(text=None, line=1, position=7) == stays
