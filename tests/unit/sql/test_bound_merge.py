"""A MERGE bound to its relations: the key that its condition compares, and what a star means."""

import pytest

from sqlext.errors import AnalysisError
from sqlext.spec.schema import Schema
from sqlext.sql.bound_merge import bind_merge
from unit.sql.lowering.orders import SCHEMA, SOURCE, UNKEYED, read

STARS = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
TWO_KEYS = Schema(UNKEYED.fields, 0, (1, 2))


def bound(condition="t.id = s.id", schema=SCHEMA, columns=SOURCE, evolving=""):
    return bind_merge(read(f"MERGE {evolving} INTO t USING s ON {condition} {STARS}"), schema, columns)


@pytest.mark.parametrize(
    ("condition", "schema", "keys"),
    [
        ("t.id = s.id", SCHEMA, {"id": "`s`.`id`"}),
        ("s.QTY = T.ID", SCHEMA, {"id": "`s`.`qty`"}),
        ("t.qty = s.qty AND s.id = t.id", TWO_KEYS, {"id": "`s`.`id`", "qty": "`s`.`qty`"}),
        ("t.id = s.id", TWO_KEYS, None),
        ("t.id = s.id", UNKEYED, None),
        ("t.qty = s.qty", SCHEMA, None),
        ("t.id = t.id", SCHEMA, None),
        ("id = s.id", SCHEMA, None),
        ("t.id = s.id AND t.id = s.qty", SCHEMA, None),
        ("t.id = s.id OR t.qty = s.qty", SCHEMA, None),
        ("t.id = s.id + 0", SCHEMA, None),
    ],
)
def test_key_columns(condition, schema, keys):
    assert bound(condition, schema).key_columns == keys


def test_a_bare_name_is_a_key_where_the_source_has_no_such_column():
    assert bound("id = s.number", columns=("number", "qty", "name")).key_columns == {"id": "`s`.`number`"}


def test_a_star_takes_the_columns_of_the_target():
    update = bound().merge.clauses[0]
    more = bound(columns=("ID", "Qty", "name", "more"))
    assert more.star_values(update) == {"id": "`s`.`ID`", "qty": "`s`.`Qty`", "name": "`s`.`name`"}
    with pytest.raises(AnalysisError, match=r"UPDATE \*"):
        bound(columns=("id", "name")).star_values(update)
    evolving = bound(columns=("id", "name"), evolving="WITH SCHEMA EVOLUTION")
    assert evolving.star_values(update) == {"id": "`s`.`id`", "name": "`s`.`name`"}
