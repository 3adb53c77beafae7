import pytest

from sqlext.sql.lowering.delete import lower_delete
from unit.sql.lowering.orders import SCHEMA, TARGET, flat, read

OWN = "SELECT 1Y AS `__operation`, `lake`.`db`.`t`.`_file` AS `_file`, `lake`.`db`.`t`.`_pos` AS `_pos` FROM " + TARGET
ALIASED = f"SELECT 1Y AS `__operation`, `x`.`_file` AS `_file`, `x`.`_pos` AS `_pos` FROM {TARGET} AS `x`"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DELETE FROM t", OWN),
        ("DELETE FROM t WHERE id = 1 OR qty", f"{OWN} WHERE ((id = 1 OR qty))"),
        ("DELETE FROM t x WHERE x.id IN (SELECT id FROM s);", f"{ALIASED} WHERE ((x.id IN (SELECT id FROM s)))"),
        ("DELETE FROM t WHERE name = 'it''s' -- end", f"{OWN} WHERE ((name = 'it''s'))"),
        ("WITH c AS (SELECT 1 AS i) DELETE FROM t WHERE id IN (SELECT i FROM c)",
         f"WITH c AS (SELECT 1 AS i) {OWN} WHERE ((id IN (SELECT i FROM c)))"),
        ("DELETE FROM t WHERE NULL", f"{OWN} WHERE ((CAST(NULL AS BOOLEAN)))"),
    ],
)  # fmt: skip
def test_delete(text, expected):
    assert flat(lower_delete(read(text), SCHEMA, TARGET)) == expected


def test_an_alias_that_is_a_columns_name_is_no_column():
    lowered = flat(lower_delete(read("DELETE FROM t AS ID WHERE ID.id = 1"), SCHEMA, TARGET))
    assert f"FROM (SELECT *, `_file`, `_pos` FROM {TARGET}) AS `ID`" in lowered
