"""The clause of an identity column, as Spark parses it.

GENERATED { ALWAYS | BY DEFAULT } AS IDENTITY [( [START WITH n] [INCREMENT BY m] )]
"""

from __future__ import annotations

import re

from sqlext.errors import AnalysisError, ParseError
from sqlext.spec.identity_column import GREATEST, LEAST, IdentityColumn
from sqlext.sql.tokens.token_cursor import TokenCursor

_ALWAYS = ("GENERATED", "ALWAYS", "AS", "IDENTITY")
_BY_DEFAULT = ("GENERATED", "BY", "DEFAULT", "AS", "IDENTITY")
_WHOLE_NUMBER = re.compile(r"[0-9]+[lL]?")


def accept_identity(cursor: TokenCursor) -> IdentityColumn | None:
    """The column's values; None if no such clause comes next. Raises ParseError
    IDENTITY_COLUMNS_DUPLICATED_SEQUENCE_GENERATOR_OPTION, AnalysisError IDENTITY_COLUMNS_ILLEGAL_STEP."""
    always = cursor.accept(*_ALWAYS)
    if not always and not cursor.accept(*_BY_DEFAULT):
        return None
    options = {"START WITH": 1, "INCREMENT BY": 1}
    given: set[str] = set()
    if cursor.accept("("):
        while not cursor.accept(")"):
            option = next((one for one in options if cursor.accept(*one.split())), None)
            if option is None:
                cursor.fail("START WITH, INCREMENT BY or ')'")
            if option in given:
                raise ParseError(
                    "IDENTITY_COLUMNS_DUPLICATED_SEQUENCE_GENERATOR_OPTION", option=option.partition(" ")[0]
                )
            given.add(option)
            options[option] = _number(cursor)
    if not options["INCREMENT BY"]:
        raise AnalysisError("IDENTITY_COLUMNS_ILLEGAL_STEP")
    return IdentityColumn(always, options["START WITH"], options["INCREMENT BY"])


def _number(cursor: TokenCursor) -> int:
    first = cursor.position
    sign = -1 if cursor.accept("-") else 1
    text = cursor.peek().text
    value = sign * int(text.rstrip("lL")) if _WHOLE_NUMBER.fullmatch(text) else None
    if value is None or not LEAST <= value <= GREATEST:
        cursor.position = first
        cursor.fail("a whole number of type BIGINT")
    cursor.position += 1
    return value
