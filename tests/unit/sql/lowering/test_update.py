import pytest

from sqlext.errors import AnalysisError
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, NestedField, StructType
from sqlext.sql.lowering.update import keeps_keys, lower_update
from unit.sql.lowering.orders import SCHEMA, TARGET, flat, read

HEAD = "SELECT 2Y AS `__operation`, `x`.`_file` AS `_file`, `x`.`_pos` AS `_pos`, "
FROM = f" FROM {TARGET} AS `x`"


@pytest.mark.parametrize(
    ("text", "columns", "where"),
    [
        ("UPDATE t x SET qty = qty + 1", "`x`.`id` AS `id`, {qty + 1 => qty} AS `qty`, `x`.`name` AS `name`", ""),
        ("UPDATE t x SET x.NAME = 'a,b', id = id WHERE qty > 1",
         "{id => id} AS `id`, `x`.`qty` AS `qty`, {'a,b' => name} AS `name`", " WHERE ((qty > 1))"),
        ("UPDATE t x SET qty = id WHERE null",
         "`x`.`id` AS `id`, {id => qty} AS `qty`, `x`.`name` AS `name`", " WHERE ((CAST(NULL AS BOOLEAN)))"),
        ("UPDATE t x SET qty = DEFAULT", "`x`.`id` AS `id`, {NULL => qty} AS `qty`, `x`.`name` AS `name`", ""),
        ("UPDATE t AS x SET qty = (SELECT max(q) FROM s WHERE s.i = x.id) WHERE x.id IN (SELECT i FROM s)",
         "`x`.`id` AS `id`, {(SELECT max(q) FROM s WHERE s.i = x.id) => qty} AS `qty`, `x`.`name` AS `name`",
         " WHERE ((x.id IN (SELECT i FROM s)))"),
    ],
)  # fmt: skip
def test_update(text, columns, where):
    assert flat(lower_update(read(text), SCHEMA, TARGET)) == HEAD + columns + FROM + where


def test_a_table_without_alias_goes_by_its_whole_name():
    lowered = flat(lower_update(read("UPDATE db.t SET qty = lake.db.t.qty WHERE db.t.id = 1"), SCHEMA, TARGET))
    assert "`lake`.`db`.`t`.`id` AS `id`, {lake.db.t.qty => qty} AS `qty`" in lowered
    assert lowered.endswith(f"FROM {TARGET} WHERE ((db.t.id = 1))")


@pytest.mark.parametrize(
    "text", ["UPDATE t SET nope = 1", "UPDATE t SET qty = 1, t.QTY = 2", "UPDATE t x SET t.qty = 1"]
)
def test_wrong_columns(text):
    with pytest.raises(AnalysisError):
        lower_update(read(text), SCHEMA, TARGET)


def test_a_changed_row_keeps_its_row_id():
    lowered = flat(lower_update(read("UPDATE t x SET qty = 1"), SCHEMA, TARGET, row_ids=True))
    assert lowered.endswith(f"`x`.`name` AS `name`, `x`.`_row_id` AS `_row_id`{FROM}")


@pytest.mark.parametrize(
    ("assignment", "kept"),
    [
        ("x = 1", True),
        ("place.y = 1", True),
        ("place.id = 1", False),
        ("t.place = NULL", False),
        ("X = place.id", True),
    ],
)
def test_a_key_changes_with_the_struct_it_lies_in(assignment, kept):
    place = StructType((NestedField(3, "id", IntegerType(), True), NestedField(4, "y", IntegerType())))
    fields = (NestedField(1, "x", IntegerType()), NestedField(2, "place", place, True))
    assert keeps_keys(read(f"UPDATE t SET {assignment}"), Schema(fields, 0, (3,))) == kept


def test_an_alias_that_is_a_columns_name_is_no_column():
    """Spark takes `qty._file` for a field of the column."""
    lowered = flat(lower_update(read("UPDATE t AS qty SET qty = qty.id"), SCHEMA, TARGET, row_ids=True))
    assert f"FROM (SELECT *, `_file`, `_pos`, `_row_id` FROM {TARGET}) AS `qty`" in lowered
    assert f"FROM {TARGET} AS `x`" in flat(lower_update(read("UPDATE t AS x SET qty = 1"), SCHEMA, TARGET))
