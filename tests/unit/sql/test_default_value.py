from __future__ import annotations

import pytest

from sqlext.spec.types import IntegerType, NestedField, StringType
from sqlext.sql.default_value import with_defaults

COLUMNS = (NestedField(1, "a", StringType(), write_default="x"), NestedField(2, "b", IntegerType()))
X, NULL = "'x'", "NULL"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("VALUES (DEFAULT, 1), (2, default)", f"VALUES ({X}, 1), (2, {NULL})"),
        ("VALUES (f(1, 2), DEFAULT)", f"VALUES (f(1, 2), {NULL})"),
        (
            "VALUES (array(1, 2), DEFAULT), (DEFAULT, 1) AS t(a, b)",
            f"VALUES (array(1, 2), {NULL}), ({X}, 1) AS t(a, b)",
        ),
        ("VALUES DEFAULT, 'b'", f"VALUES {X}, 'b'"),
        ("SELECT DEFAULT, DEFAULT", f"SELECT {X}, {NULL}"),
        ("SELECT f(DEFAULT, 1), DEFAULT FROM t", f"SELECT f(DEFAULT, 1), {NULL} FROM t"),
        ("SELECT 1, b FROM (SELECT DEFAULT, 2)", None),
        ("VALUES ('DEFAULT', `DEFAULT`)", None),
        ("VALUES (DEFAULT + 1, t.default)", None),
        ("VALUES (1, 2, DEFAULT)", None),
        ("TABLE default", None),
    ],
)
def test_the_keyword_stands_for_the_default_of_its_column(source: str, expected: str | None) -> None:
    assert with_defaults(source, COLUMNS) == (source if expected is None else expected)
