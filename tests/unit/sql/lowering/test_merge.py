import pytest

from sqlext.errors import AnalysisError
from sqlext.sql.bound_merge import bind_merge
from sqlext.sql.lowering.merge import lower_merge, source_select
from unit.sql.lowering.orders import SCHEMA, SOURCE, TARGET, UNKEYED, flat, read

HEAD = "MERGE INTO t USING s ON t.id = s.id "
MATCHED_UPDATE = "WHEN MATCHED THEN UPDATE SET qty = s.qty "
INSERT = "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id) "
BY_SOURCE = "WHEN NOT MATCHED BY SOURCE THEN DELETE "
T = TARGET


def lowered(text, schema=SCHEMA, columns=SOURCE):
    rows, names, _, _ = lower_merge(bind_merge(read(text), schema, columns), TARGET)
    return flat(rows), names


def test_whole_text():
    rows, names = lowered(
        "WITH s AS (SELECT 1 AS id, 2 AS qty, 'a' AS name) MERGE INTO t AS x USING s ON x.id = s.id"
        " WHEN MATCHED AND s.qty = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET qty = x.qty + s.qty"
        " WHEN NOT MATCHED AND qty > 0 THEN INSERT (id, qty) VALUES (id, s.qty)"
    )
    ctes = "WITH s AS (SELECT 1 AS id, 2 AS qty, 'a' AS name) "
    assert rows == (
        f"{ctes}SELECT `__operation`, `_file`, `_pos`, `id`, `qty`, `name` FROM ( SELECT"
        " CASE WHEN `x`.`_file` IS NOT NULL AND (s.qty = 0) THEN 0 WHEN `x`.`_file` IS NOT NULL THEN 1"
        " WHEN `x`.`_file` IS NULL AND (`s`.qty > 0) THEN 2 END AS `__clause`,"
        " CASE WHEN `__clause` IN (0) THEN 1Y WHEN `__clause` IN (1) THEN 2Y WHEN `__clause` IN (2) THEN 3Y END"
        " AS `__operation`, `x`.`_file` AS `_file`, `x`.`_pos` AS `_pos`,"
        " CASE WHEN `__clause` IN (2) THEN {`s`.id => id} ELSE `x`.`id` END AS `id`,"
        " CASE WHEN `__clause` IN (1) THEN {x.qty + s.qty => qty} WHEN `__clause` IN (2) THEN {s.qty => qty} END"
        " AS `qty`, `x`.`name` AS `name`"
        f" FROM s LEFT OUTER JOIN {T} AS `x` ON (x.id = s.id) ) WHERE `__clause` IS NOT NULL"
    )
    assert names == (("id",),)


@pytest.mark.parametrize(
    ("clauses", "join"),
    [
        (MATCHED_UPDATE, f"{T} INNER JOIN s"),
        (INSERT, f"s LEFT ANTI JOIN {T}"),
        (BY_SOURCE, f"{T} LEFT ANTI JOIN s"),
        ("WHEN MATCHED THEN DELETE", f"{T} LEFT SEMI JOIN s"),
        ("WHEN MATCHED AND s.qty = 1 THEN DELETE", f"{T} INNER JOIN s"),
        (MATCHED_UPDATE + INSERT, f"s LEFT OUTER JOIN {T}"),
        (MATCHED_UPDATE + BY_SOURCE,
         f"{T} LEFT OUTER JOIN (s CROSS JOIN (SELECT true AS `__source`) AS `__source_mark`)"),
        (INSERT + BY_SOURCE, f"{T} FULL OUTER JOIN (s CROSS JOIN (SELECT true AS `__source`) AS `__source_mark`)"),
        (MATCHED_UPDATE + INSERT + BY_SOURCE,
         f"{T} FULL OUTER JOIN (s CROSS JOIN (SELECT true AS `__source`) AS `__source_mark`)"),
    ],
)  # fmt: skip
def test_the_join_is_as_narrow_as_the_clauses_allow(clauses, join):
    rows, _ = lowered(HEAD + clauses)
    assert f" FROM {join} ON (t.id = s.id) ) WHERE" in rows


@pytest.mark.parametrize(
    ("source", "text", "marked"),
    [
        ("s", "s", "(s CROSS JOIN (SELECT true AS `__source`) AS `__source_mark`)"),
        ("s AS x", "s AS `x`", "(SELECT *, true AS `__source` FROM s) AS `x`"),
        ("s x(id, qty, name)", "s AS `x`(`id`, `qty`, `name`)",
         "(SELECT *, true AS `__source` FROM s) AS `x`(`id`, `qty`, `name`, `__source`)"),
        ("(SELECT * FROM s)", "(SELECT * FROM s) AS `__source_rows`",
         "(SELECT *, true AS `__source` FROM (SELECT * FROM s)) AS `__source_rows`"),
        ("(SELECT 1) `x y`", "(SELECT 1) AS `x y`", "(SELECT *, true AS `__source` FROM (SELECT 1)) AS `x y`"),
        ("range(5) r", "range(5) AS `r`", "(SELECT *, true AS `__source` FROM range(5)) AS `r`"),
        ("s VERSION AS OF 3", "s VERSION AS OF 3",
         "(s VERSION AS OF 3 CROSS JOIN (SELECT true AS `__source`) AS `__source_mark`)"),
    ],
)  # fmt: skip
def test_sources(source, text, marked):
    head = f"MERGE INTO t USING {source} ON t.id = 1 "
    assert source_select(read(head + "WHEN MATCHED THEN DELETE")) == f"SELECT * FROM {text}"
    assert f" INNER JOIN {text} ON" in lowered(head + "WHEN MATCHED AND true THEN DELETE")[0]
    assert f" FULL OUTER JOIN {marked} ON" in lowered(head + BY_SOURCE + "WHEN NOT MATCHED THEN INSERT *")[0]


@pytest.mark.parametrize(
    ("clause", "case"),
    [
        ("WHEN NOT MATCHED AND qty = 1 THEN INSERT (id) VALUES (id)", "(`s`.qty = 1)"),
        ("WHEN NOT MATCHED AND s.qty = 1 THEN INSERT (id) VALUES (id)", "(s.qty = 1)"),
        ("WHEN NOT MATCHED BY SOURCE AND qty = 1 THEN DELETE", "(`lake`.`db`.`t`.qty = 1)"),
        ("WHEN NOT MATCHED BY SOURCE AND t.qty = 1 THEN DELETE", "(t.qty = 1)"),
        ("WHEN MATCHED AND s.qty = 1 THEN DELETE", "(s.qty = 1)"),
    ],
)
def test_one_sided_clauses_see_one_side(clause, case):
    assert f"CASE WHEN {case} THEN 0 " in lowered(HEAD + clause)[0]


@pytest.mark.parametrize(
    "clause",
    [
        "WHEN NOT MATCHED AND t.qty = 1 THEN INSERT *",
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)",
        "WHEN NOT MATCHED BY SOURCE AND s.qty = 1 THEN DELETE",
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET qty = s.qty",
        "WHEN MATCHED THEN UPDATE SET nope = 1",
        "WHEN MATCHED THEN UPDATE SET qty = 1, t.qty = 2",
        "WHEN NOT MATCHED THEN INSERT (id, id) VALUES (1, 2)",
    ],
)
def test_wrong_names(clause):
    with pytest.raises(AnalysisError):
        lowered(HEAD + clause)


def test_a_star_needs_every_column():
    with pytest.raises(AnalysisError) as caught:
        lowered(HEAD + "WHEN MATCHED THEN UPDATE SET *", columns=("id", "qty"))
    assert caught.value.parameters["name"] == "name"


def test_a_value_that_clauses_share_is_written_once():
    rows, _ = lowered(HEAD + "WHEN MATCHED AND s.qty > 1 THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert rows.count("{`s`.`qty` => qty}") == 1
    assert "CASE WHEN `__clause` IN (0, 1) THEN {`s`.`qty` => qty} END AS `qty`" in rows


@pytest.mark.parametrize(
    ("clauses", "checked"),
    [
        (MATCHED_UPDATE, True),
        ("WHEN MATCHED AND s.qty = 1 THEN DELETE", True),
        ("WHEN MATCHED AND s.qty = 1 THEN DELETE WHEN MATCHED THEN DELETE", True),
        ("WHEN MATCHED THEN DELETE", False),
        ("WHEN MATCHED THEN DELETE " + INSERT + BY_SOURCE, False),
        (INSERT, False),
        (BY_SOURCE, False),
    ],
)
def test_only_an_unconditional_delete_may_match_twice(clauses, checked):
    assert (lowered(HEAD + clauses)[1] is not None) == checked


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("t.name = s.name AND t.qty = s.qty", ["name", "qty"]),
        ("s.name = t.NAME", ["name"]),
        ("lake.db.t.qty = s.qty", ["qty"]),
        ("true", []),
    ],
)
def test_without_key_the_condition_names_the_row(condition, names):
    text = f"MERGE INTO t USING s ON {condition} {MATCHED_UPDATE}"
    assert lowered(text, schema=UNKEYED)[1] == tuple((name,) for name in names)


def test_names_of_ours_give_way_to_the_users():
    rows, _ = lowered(HEAD + MATCHED_UPDATE + BY_SOURCE, columns=(*SOURCE, "__Clause", "__source"))
    assert "END AS `__clause_`" in rows
    assert "(SELECT true AS `__source_`)" in rows


def test_an_unmatched_column_is_a_typed_null():
    rows, _ = lowered(HEAD + INSERT)
    assert "CAST(NULL AS STRING) AS `name`" in rows
    assert "CAST(NULL AS STRING) AS `_file`, CAST(NULL AS BIGINT) AS `_pos`" in rows


@pytest.mark.parametrize(
    "clauses", [BY_SOURCE, "WHEN MATCHED AND t.id > 1 THEN DELETE ", "WHEN MATCHED THEN DELETE " + BY_SOURCE]
)
def test_deletions_alone_come_without_columns(clauses):
    rows, _, _, _ = lower_merge(bind_merge(read(HEAD + clauses), SCHEMA, SOURCE), TARGET, row_ids=True)
    assert rows.startswith("SELECT `__operation`, `_file`, `_pos`\n")
    assert "_row_id" not in rows


@pytest.mark.parametrize(
    ("clauses", "row_id"),
    [
        (MATCHED_UPDATE + INSERT, "`lake`.`db`.`t`.`_row_id`"),
        (MATCHED_UPDATE + BY_SOURCE, "`lake`.`db`.`t`.`_row_id`"),
        (INSERT, "CAST(NULL AS BIGINT)"),
    ],
)
def test_row_ids_come_behind_the_columns(clauses, row_id):
    rows, _, _, _ = lower_merge(bind_merge(read(HEAD + clauses), SCHEMA, SOURCE), TARGET, row_ids=True)
    assert f"{row_id} AS `_row_id` FROM" in flat(rows)
    assert flat(rows).startswith("SELECT `__operation`, `_file`, `_pos`, `id`, `qty`, `name`, `_row_id` FROM")


@pytest.mark.parametrize(
    ("clauses", "condition", "narrowed"),
    [
        (MATCHED_UPDATE + INSERT, "t.id = s.id", True),
        (INSERT, "t.id = s.id", True),
        # Spark broadcasts the source as it is, or all of the target is kept
        (MATCHED_UPDATE, "t.id = s.id", False),
        (BY_SOURCE, "t.id = s.id", False),
        (MATCHED_UPDATE + INSERT + BY_SOURCE, "t.id = s.id", False),
        (INSERT, "t.id IN (SELECT s.id)", False),
        (INSERT, "t.id = s.id AND EXISTS (SELECT 1)", False),
    ],
)
def test_a_join_that_keeps_all_of_the_source_moves_matched_rows_alone(clauses, condition, narrowed):
    bound = bind_merge(read(HEAD.replace("t.id = s.id", condition) + clauses), SCHEMA, SOURCE)
    plain, narrow = (lower_merge(bound, TARGET, narrows=narrows).rows for narrows in (False, True))
    semi = f"JOIN ({T} LEFT SEMI JOIN s ON ({condition})) ON ({condition})"
    wanted = flat(plain).replace(f"JOIN {T} ON ({condition})", semi) if narrowed else flat(plain)
    assert flat(narrow) == wanted
    assert ("LEFT SEMI" in wanted) == narrowed


@pytest.mark.parametrize(
    ("clauses", "shows"),
    [
        ("WHEN MATCHED AND s.qty > 1 THEN UPDATE SET qty = 1 ", True),
        ("WHEN MATCHED AND s.qty > 1 THEN DELETE ", True),
        ("WHEN MATCHED AND s.qty > 1 THEN DELETE WHEN MATCHED THEN UPDATE SET qty = 1 ", False),
        ("WHEN MATCHED AND s.qty > 1 THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id) ", True),
        ("WHEN MATCHED AND s.qty > 1 THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE ", True),
        ("WHEN MATCHED THEN DELETE ", False),
        ("WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id) ", False),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE ", False),
    ],
)
def test_matches_that_no_clause_applies_to_are_shown(clauses, shows):
    strict = lower_merge(bind_merge(read(HEAD + clauses), SCHEMA, SOURCE), TARGET)
    lenient = lower_merge(bind_merge(read(HEAD + clauses), SCHEMA, SOURCE), TARGET, counts_matches=False)
    assert (strict.shows_matches, "0Y" in strict.rows) == (shows, shows)
    assert (lenient.shows_matches, "0Y" in lenient.rows) == (False, False)
