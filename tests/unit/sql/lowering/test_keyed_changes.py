from sqlext.spec.row_order import RowOrder
from sqlext.sql.lowering.keyed_changes import lower_keyed_changes
from unit.sql.lowering.orders import SCHEMA, TARGET, flat


def test_plain_rows_come_to_tasks_by_key():
    lowered = flat(lower_keyed_changes("`rows`", TARGET, SCHEMA))
    assert "FROM (SELECT * FROM `rows` DISTRIBUTE BY `id`) AS `__source`" in lowered
    assert "CASE WHEN `__target`.`_file` IS NULL THEN 3Y ELSE 2Y END AS `__operation`" in lowered
    assert "SELECT `id`, `_file`, `_pos` FROM" in lowered


def test_changes_do_what_they_find():
    lowered = flat(lower_keyed_changes("`rows`", TARGET, SCHEMA, one_row_a_key=True, row_ids=True))
    assert "FROM `rows` AS `__source`" in lowered
    assert (
        "CASE WHEN `__source`.`__operation` > 3Y THEN `__source`.`__operation` WHEN `__target`.`_file` IS NULL THEN"
        " CASE WHEN `__source`.`__operation` = 2Y THEN 3Y END ELSE `__source`.`__operation` END"
    ) in lowered
    assert lowered.endswith("WHERE `__operation` IS NOT NULL")
    assert "`__target`.`_row_id` AS `_row_id`" in lowered


def test_a_row_that_lies_before_the_stored_one_does_nothing():
    lowered = flat(lower_keyed_changes("`rows`", TARGET, SCHEMA, one_row_a_key=True, sequence=RowOrder(("qty", "id"))))
    assert "SELECT `id`, `qty`, `_file`, `_pos` FROM" in lowered
    assert (
        "WHEN max(named_struct('v0', `__target`.`qty`, 'v1', `__target`.`id`)) OVER (PARTITION BY `__source`.`id`)"
        " > named_struct('v0', `__source`.`qty`, 'v1', `__source`.`id`) THEN NULL"
    ) in lowered


def test_in_a_descending_order_the_smallest_value_is_the_last_and_null_the_first():
    order = RowOrder(("qty",), descending=True)
    lowered = flat(lower_keyed_changes("`rows`", TARGET, SCHEMA, one_row_a_key=True, sequence=order))
    assert (
        "WHEN min(named_struct('v0', `__target`.`qty` IS NULL, 'v1', `__target`.`qty`)) OVER (PARTITION BY"
        " `__source`.`id`) < named_struct('v0', `__source`.`qty` IS NULL, 'v1', `__source`.`qty`) THEN NULL"
    ) in lowered


def test_of_the_rows_that_have_one_key_all_but_one_go():
    number = "row_number() OVER (PARTITION BY `__source`.`id` ORDER BY `__target`.`_file`, `__target`.`_pos`)"
    for options in ({"one_copy": True}, {"one_copy": True, "one_row_a_key": True}, {"sequence": RowOrder(("qty",))}):
        lowered = flat(lower_keyed_changes("`rows`", TARGET, SCHEMA, **options))
        assert f"WHEN {number} > 1 THEN 1Y ELSE" in lowered, options
    assert "row_number" not in lower_keyed_changes("`rows`", TARGET, SCHEMA)
