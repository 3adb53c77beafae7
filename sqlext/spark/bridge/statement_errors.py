"""Where the errors of lowered SQL are told: at their places in the statement that the user wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlext.spark.query.lowered_sql import is_lowered
from sqlext.sql.error_places import ErrorPlace, offset_of, place_in


def error_places(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answers "error places": for each of `pieces`, parts of texts that Spark was given, its place in `statement`.

    A piece is from character `start` to `stop` of its `text`, or begins at a `position` of a `line`; what is not known
    is null. `is_lowered` says whether the text is lowered SQL: a piece of another one, as of a view, stays where it is.
    """
    return {"places": [_described(piece, arguments["statement"]) for piece in arguments["pieces"]]}


def _described(piece: Mapping[str, Any], statement: str) -> Mapping[str, Any]:
    if not is_lowered(piece["text"] or ""):
        return {"is_lowered": False, "place": None}
    found = _found(piece, statement)
    place = None if found is None else {"offset": found.offset, "line": found.line, "position": found.position}
    return {"is_lowered": True, "place": place}


def _found(piece: Mapping[str, Any], statement: str) -> ErrorPlace | None:
    text = piece["text"]
    if "line" in piece:
        if piece["line"] is None or piece["position"] is None:
            return None
        return place_in(statement, text, offset_of(text, piece["line"], piece["position"]), 0)
    if piece["start"] is None or piece["stop"] is None:
        return None
    return place_in(statement, text, piece["start"], piece["stop"] + 1 - piece["start"])
