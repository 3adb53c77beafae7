import pytest

from sqlext.errors import AnalysisError
from sqlext.sql.lowering.on_conflict import lower_on_conflict, replaces_whole_rows
from unit.sql.lowering.orders import SCHEMA, TARGET, flat, read

INSERT = "INSERT INTO t VALUES (1, 2, 'x') ON CONFLICT"


def lowered(text):
    insert = read(text)
    return flat(lower_on_conflict(insert, insert.conflict, "`rows`", TARGET, SCHEMA))


def test_a_bare_name_is_the_stored_rows():
    text = lowered(f"{INSERT} (id) DO UPDATE SET qty = qty + excluded.qty WHERE name IS NULL")
    assert "`lake`.`db`.`t`.qty + excluded.qty" in text
    assert "THEN CASE WHEN `lake`.`db`.`t`.name IS NULL THEN 2Y END ELSE 3Y END" in text
    assert "ON `lake`.`db`.`t`.`id` = excluded.`id`" in text


def test_an_alias_stands_for_the_table():
    text = lowered("INSERT INTO t AS x VALUES (1, 2, 'x') ON CONFLICT (id) DO UPDATE SET qty = x.qty + 1")
    assert f"LEFT OUTER JOIN {TARGET} AS `x` ON `x`.`id` = excluded.`id`" in text


def test_nothing_is_done_with_rows_that_are_there_not_even_a_refusal():
    text = lowered(f"{INSERT} DO NOTHING")
    assert "IS NOT NULL AND excluded.`__operation` < 6Y THEN NULL" in text


def test_a_key_column_is_not_set():
    with pytest.raises(AnalysisError) as caught:
        lowered(f"{INSERT} (id) DO UPDATE SET id = excluded.qty")
    assert caught.value.condition == "ON_CONFLICT_SETS_KEY"


@pytest.mark.parametrize(
    ("clause", "whole"),
    [
        ("DO UPDATE SET qty = excluded.qty, name = EXCLUDED.`name`", True),
        ("DO UPDATE SET id = excluded.id, qty = excluded.qty, name = excluded.name", True),
        ("DO UPDATE SET qty = excluded.qty", False),
        ("DO UPDATE SET qty = excluded.qty, name = excluded.qty", False),
        ("DO UPDATE SET qty = excluded.qty, name = excluded.name WHERE true", False),
        ("DO NOTHING", False),
    ],
)
def test_whole_rows(clause, whole):
    insert = read(f"{INSERT} (id) {clause}")
    assert replaces_whole_rows(insert, insert.conflict, SCHEMA) is whole
