import pytest

from sqlext.errors import AnalysisError
from sqlext.spec.schema import Schema
from sqlext.sql.bound_merge import bind_merge
from sqlext.sql.lowering.key_upsert import key_upsert, lower_resolved_upsert, lower_upsert_source
from unit.sql.lowering.orders import SCHEMA, SOURCE, TARGET, UNKEYED, flat, read

STARS = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
FULL_INSERT = "WHEN NOT MATCHED THEN INSERT (id, qty, name) VALUES (s.id, s.qty, upper(s.name))"
SET = "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET "
TWO_KEYS = Schema(UNKEYED.fields, 0, (1, 2))


def recognised(text, schema=SCHEMA, columns=SOURCE):
    return key_upsert(bind_merge(read(text), schema, columns))


@pytest.mark.parametrize(
    "text",
    [
        f"MERGE INTO t USING s ON t.id = s.id {STARS}",
        f"MERGE INTO t USING s ON s.id = t.id {STARS}",
        f"MERGE INTO t USING s ON ((lake.db.t.ID) = (s.Id)) {STARS}",
        f"WITH s AS (SELECT 1 AS id, 2 AS qty, 'a' AS name) MERGE INTO t USING s ON t.id = s.id {STARS}",
        f"MERGE INTO t x USING (SELECT * FROM y) AS s ON x.id = s.id {STARS}",
        "MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT * WHEN MATCHED THEN UPDATE SET *",
        f"{SET}qty = s.qty, name = upper(s.name) {FULL_INSERT}",
        f"{SET}name = UPPER( s.name ), t.qty = S.qty, id = s.id {FULL_INSERT}",
        f"{SET}* WHEN NOT MATCHED THEN INSERT (name, qty, id) VALUES (name, (qty), s.id)",
        f"{SET}qty = 1, name = DEFAULT WHEN NOT MATCHED THEN INSERT (id, qty, name) VALUES (id, 1, NULL)",
    ],
)
def test_upserts(text):
    assert recognised(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        f"{SET}*",
        "MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.qty > 1 THEN UPDATE SET *"
        " WHEN NOT MATCHED THEN INSERT *",
        f"{SET}* WHEN NOT MATCHED AND qty > 1 THEN INSERT *",
        f"MERGE INTO t USING s ON t.id = s.id {STARS} WHEN NOT MATCHED BY SOURCE THEN DELETE",
        f"MERGE INTO t USING s ON t.qty = s.qty {STARS}",
        f"MERGE INTO t USING s ON t.id = s.id AND t.qty = s.qty {STARS}",
        f"MERGE INTO t USING s ON t.id = s.id AND t.id = s.qty {STARS}",
        f"MERGE INTO t USING s ON t.id = s.id OR t.qty = s.qty {STARS}",
        f"MERGE INTO t USING s ON t.id = s.id AND s.qty > 1 {STARS}",
        f"MERGE INTO t USING s ON t.id = s.id + 0 {STARS}",
        f"MERGE INTO t USING s ON t.id = t.id {STARS}",
        f"MERGE INTO t USING s ON id = s.id {STARS}",
        f"MERGE INTO t USING s ON t.id = s.qty {STARS}",
        f"MERGE INTO t USING s ON true {STARS}",
        f"{SET}qty = s.qty {FULL_INSERT}",
        f"{SET}qty = t.qty + s.qty, name = upper(s.name) {FULL_INSERT}",
        f"{SET}qty = s.qty, name = lower(s.name) {FULL_INSERT}",
        f"{SET}id = 1, qty = s.qty, name = upper(s.name) {FULL_INSERT}",
        f"{SET}qty = qty, name = upper(s.name) {FULL_INSERT}",
        f"{SET}* WHEN NOT MATCHED THEN"
        " INSERT (id, qty) VALUES (s.id, s.qty)",
        f"{SET}* WHEN NOT MATCHED THEN"
        " INSERT (id, qty, name) VALUES (s.qty, s.qty, s.name)",
        f"{SET}qty = (SELECT 1), name = s.name"
        " WHEN NOT MATCHED THEN INSERT (id, qty, name) VALUES (s.id, (SELECT 1), s.name)",
    ],
)  # fmt: skip
def test_other_merges(text):
    assert recognised(text) is None


def test_a_key_of_two_columns_needs_both():
    assert recognised(f"MERGE INTO t USING s ON t.id = s.id {STARS}", TWO_KEYS) is None
    assert recognised(f"MERGE INTO t USING s ON t.id = s.id AND s.qty = t.qty {STARS}", TWO_KEYS) is not None
    assert recognised(f"MERGE INTO t USING s ON t.id = s.id {STARS}", UNKEYED) is None


def test_bare_names_that_only_one_side_has():
    text = (
        "MERGE INTO t USING (SELECT 1) s ON id = k WHEN MATCHED THEN UPDATE SET qty = q, name = n"
        " WHEN NOT MATCHED THEN INSERT (id, qty, name) VALUES (k, q, n)"
    )
    upsert = recognised(text, columns=("k", "q", "n"))
    assert upsert is not None
    assert upsert.keys == {"id": "`s`.`k`"}
    assert upsert.values == {"id": "`s`.`k`", "qty": "`s`.`q`", "name": "`s`.`n`"}


def test_texts():
    upsert = recognised(f"WITH s AS (SELECT 1) MERGE INTO t USING s ON t.id = s.id {STARS}")
    values = "{`s`.`id` => id} AS `id`, {`s`.`qty` => qty} AS `qty`, {`s`.`name` => name} AS `name`"
    assert flat(lower_upsert_source(upsert)) == f"WITH s AS (SELECT 1) SELECT {values} FROM s"
    assert flat(lower_resolved_upsert(upsert, TARGET)) == (
        "WITH s AS (SELECT 1) SELECT CASE WHEN `__target`.`_file` IS NULL THEN 3Y ELSE 2Y END AS `__operation`,"
        " `__target`.`_file` AS `_file`, `__target`.`_pos` AS `_pos`,"
        " `__source`.`id` AS `id`, `__source`.`qty` AS `qty`, `__source`.`name` AS `name`"
        f" FROM (SELECT * FROM (SELECT {values} FROM s) DISTRIBUTE BY `id`) AS `__source`"
        f" LEFT OUTER JOIN (SELECT `id`, `_file`, `_pos` FROM {TARGET}) AS `__target`"
        " ON `__target`.`id` = `__source`.`id`"
    )


def test_a_replaced_row_hands_its_row_id_on():
    upsert = recognised(f"MERGE INTO t USING s ON t.id = s.id {STARS}")
    lowered = flat(lower_resolved_upsert(upsert, TARGET, row_ids=True))
    assert "`__source`.`name` AS `name`, `__target`.`_row_id` AS `_row_id` FROM" in lowered
    assert f"(SELECT `id`, `_file`, `_pos`, `_row_id` FROM {TARGET}) AS `__target`" in lowered


SIDES = ("id", "a", "A", "j", "st")


@pytest.mark.parametrize(
    ("updated", "inserted", "same_without_case", "same_with_case"),
    [
        ("s.a + 1", "s.a+1", True, True),
        ("s.a + 1", "S.a+1", True, False),
        ("upper(s.a)", "UPPER(s.a)", True, True),
        ("concat(s.a, 'x')", "concat(s.a, 'X')", False, False),
        ("s.j:a", "s.j:A", False, False),
        ("s.j:a.b", "s.j:a.B", False, False),
        ("s.j:['a']", "s.j:['A']", False, False),
        ("s.j:a", "s.J:a", True, False),
        ("s.st.x + 1", "s.st.X + 1", False, False),
        ("s.`a` + 1", "s.a + 1", True, True),
        ("s.a + 1", "s.A + 1", True, False),
        ("s.id + 1", "s.ID + 1", True, False),
        ('concat(s.id, "q")', 'concat(s.id, "Q")', False, False),
        ("transform(s.st, x -> x)", "transform(s.st, X -> X)", False, False),
    ],
)
def test_expressions_are_the_same_in_case_too(updated, inserted, same_without_case, same_with_case):
    schema = Schema((UNKEYED.fields[0], UNKEYED.fields[2]), 0, (1,))
    text = (
        f"MERGE INTO t USING (SELECT 1) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = {updated}"
        f" WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, {inserted})"
    )
    for exact, same in ((False, same_without_case), (True, same_with_case)):
        columns = SIDES if exact else tuple(name for name in SIDES if name != "A")
        try:
            found = key_upsert(bind_merge(read(text), schema, columns, case_sensitive=exact)) is not None
        except AnalysisError:
            found = False
        assert found == same, exact
