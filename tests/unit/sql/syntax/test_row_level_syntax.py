import pytest

from sqlext.errors import AnalysisError, ParseError, UnsupportedError
from sqlext.sql.parser import parse


def read(text):
    statement = parse(text, catalogs=("lake",), current=("lake", "db"))
    assert statement is not None
    return statement


@pytest.mark.parametrize(
    ("text", "columns", "source"),
    [
        ("INSERT INTO t VALUES (1, 'a;b'), (2, 'c''d')", None, "VALUES (1, 'a;b'), (2, 'c''d')"),
        ("INSERT INTO TABLE t SELECT 1", None, "SELECT 1"),
        ("INSERT INTO t TABLE x", None, "TABLE x"),
        ("INSERT INTO t FROM x SELECT *", None, "FROM x SELECT *"),
        ("INSERT INTO t (a, `b c`) VALUES (1, 2)", ("a", "b c"), "VALUES (1, 2)"),
        ("INSERT INTO t(select, values) SELECT 1, 2", ("select", "values"), "SELECT 1, 2"),
        ("INSERT INTO t (SELECT 1)", None, "(SELECT 1)"),
        ("INSERT INTO t ((SELECT 1) UNION (SELECT 2))", None, "((SELECT 1) UNION (SELECT 2))"),
        ("INSERT INTO t (a) (SELECT 1)", ("a",), "(SELECT 1)"),
        ("INSERT INTO t WITH c AS (SELECT 1) SELECT * FROM c", None, "WITH c AS (SELECT 1) SELECT * FROM c"),
        ("INSERT INTO t SELECT /*+ BROADCAST(x) */ * FROM x -- end", None, "SELECT /*+ BROADCAST(x) */ * FROM x"),
        ("INSERT INTO t SELECT 'WHEN MATCHED THEN' AS `(` ;", None, "SELECT 'WHEN MATCHED THEN' AS `(`"),
        ('INSERT INTO t SELECT r\'\\\' AS a, "b\\"c"', None, 'SELECT r\'\\\' AS a, "b\\"c"'),
        ("INSERT INTO t SELECT 1L, 2.5BD, 3e1, .5, x'0F', 1_000", None, "SELECT 1L, 2.5BD, 3e1, .5, x'0F', 1_000"),
        ("INSERT INTO t SELECT TIME'10:00', INTERVAL '1' DAY", None, "SELECT TIME'10:00', INTERVAL '1' DAY"),
        ("INSERT INTO t SELECT '😀', 'ü' AS `名`", None, "SELECT '😀', 'ü' AS `名`"),
    ],
)
def test_insert_sources(text, columns, source):
    statement = read(text)
    assert (statement.columns, statement.source.text) == (columns, source)
    assert text[statement.source.start : statement.source.end] == source


def test_insert_forms():
    assert read("INSERT INTO t BY NAME SELECT 1 AS a").by_name
    assert read("INSERT OVERWRITE t SELECT 1").overwrite
    assert read("INSERT OVERWRITE TABLE t SELECT 1").overwrite
    statement = read("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a")
    assert statement.ctes.text == "WITH a AS (SELECT 1)"


@pytest.mark.parametrize(
    ("text", "upsert", "options"),
    [
        ("UPSERT INTO t (a) VALUES (1)", True, {}),
        ("UPSERT INTO TABLE t SELECT 1", True, {}),
        ("WITH a AS (SELECT 1) UPSERT INTO t BY NAME SELECT * FROM a", True, {}),
        ("INSERT INTO t /*+ OPTIONS('upsert-enabled'='true') */ VALUES (1)", False, {"upsert-enabled": "true"}),
        ("INSERT INTO t/*+OPTIONS('a'='1', 'b' = 'x*+y')*/(a) VALUES (1)", False, {"a": "1", "b": "x*+y"}),
        ("INSERT INTO t -- /*+ no */\n/* nor */ /*+ OPTIONS('a'='1') */ SELECT 1", False, {"a": "1"}),
        ("INSERT INTO t WITH ('a' = 'b') SELECT 1", False, {"a": "b"}),
        ("INSERT INTO t SELECT /*+ BROADCAST(x) */ * FROM x", False, {}),
        ("INSERT INTO t /* OPTIONS('a'='1') */ SELECT 1", False, {}),
    ],
)
def test_upserts_and_options_of_a_write(text, upsert, options):
    statement = read(text)
    assert (statement.upsert, statement.options) == (upsert, options)


@pytest.mark.parametrize(
    ("text", "source", "columns", "where"),
    [
        ("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", "VALUES (1)", None, None),
        ("INSERT INTO t SELECT 1 ON CONFLICT (a, `b c`) DO NOTHING;", "SELECT 1", ("a", "b c"), None),
        (
            "INSERT INTO t SELECT * FROM a JOIN b ON conflict = 1 ON CONFLICT (a) DO UPDATE SET n = 1 WHERE m > 2",
            "SELECT * FROM a JOIN b ON conflict = 1",
            ("a",),
            "m > 2",
        ),
        (
            "INSERT INTO t SELECT * FROM a JOIN b ON conflict(a) ON CONFLICT (a) DO UPDATE SET n = 1",
            "SELECT * FROM a JOIN b ON conflict(a)",
            ("a",),
            None,
        ),
    ],
)
def test_on_conflict(text, source, columns, where):
    statement = read(text)
    assert statement.source.text == source
    assert statement.conflict.columns == columns
    assert (statement.conflict.where and statement.conflict.where.text) == where


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t SELECT * FROM a JOIN b ON conflict",
        "INSERT INTO t SELECT * FROM a JOIN b ON conflict(a)",
        "INSERT INTO t SELECT * FROM a JOIN b ON (conflict) WHERE (x)",
    ],
)
def test_joins_on_a_column_called_conflict(text):
    assert read(text).conflict is None


def test_another_hint_than_options_is_refused_where_it_stands():
    with pytest.raises(ParseError, match=r"'REPARTITION' \(line 2, column 5\)"):
        read("INSERT INTO t\n/*+ REPARTITION(2) */ SELECT 1")


def test_static_partition():
    statement = read("INSERT OVERWRITE t PARTITION (p = upper('a,b'), q) SELECT 1")
    assert [(n, v and v.text) for n, v in statement.static_partition] == [("p", "upper('a,b')"), ("q", None)]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("INSERT INTO t (a, A) SELECT 1, 2", "COLUMN_ALREADY_EXISTS"),
        ("INSERT INTO t PARTITION (p = 1, P = 2) SELECT 1", "COLUMN_ALREADY_EXISTS"),
        ("INSERT INTO t PARTITION (p = 1) (p, a) SELECT 1, 2", "STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST"),
    ],
)
def test_insert_contradictions(text, condition):
    with pytest.raises(AnalysisError) as caught:
        read(text)
    assert caught.value.condition == condition


@pytest.mark.parametrize(
    "text",
    [
        "INSERT OVERWRITE t PARTITION (p = 1) IF NOT EXISTS SELECT 1",
    ],
)
def test_insert_forms_without_effect_are_refused(text):
    with pytest.raises(UnsupportedError) as caught:
        read(text)
    assert caught.value.condition == "UNSUPPORTED_SYNTAX"


@pytest.mark.parametrize(
    ("text", "alias", "where"),
    [
        ("DELETE FROM t", None, None),
        ("DELETE FROM t AS x", "x", None),
        ("DELETE FROM t x WHERE x.a = 1", "x", "x.a = 1"),
        (
            "DELETE FROM t WHERE a IN (SELECT b FROM s WHERE c = 'WHERE')",
            None,
            "a IN (SELECT b FROM s WHERE c = 'WHERE')",
        ),
        ("DELETE FROM t AS `where` WHERE `where`.a = 1", "where", "`where`.a = 1"),
        ("DELETE FROM t WHERE a -- why\n = 1 -- end", None, "a -- why\n = 1"),
        ("DELETE FROM t WHERE m['k'] = array(1)[0]", None, "m['k'] = array(1)[0]"),
    ],
)
def test_delete(text, alias, where):
    statement = read(text)
    assert (statement.alias, statement.where and statement.where.text) == (alias, where)


@pytest.mark.parametrize(
    ("text", "assignments"),
    [
        ("UPDATE t SET a = 1", [("a", "1")]),
        ("UPDATE t SET a = 1, b = (2, 3), c = f(4, 5) WHERE d", [("a", "1"), ("b", "(2, 3)"), ("c", "f(4, 5)")]),
        ("UPDATE t x SET x.a = a + 1, `b c` = 'SET' WHERE a = 1", [("x.a", "a + 1"), ("b c", "'SET'")]),
        ("UPDATE t SET a = CASE WHEN b THEN 1 ELSE 2 END", [("a", "CASE WHEN b THEN 1 ELSE 2 END")]),
        ("UPDATE t SET a = (SELECT max(b) FROM s WHERE c = 1) WHERE d", [("a", "(SELECT max(b) FROM s WHERE c = 1)")]),
        ("UPDATE t SET a = DEFAULT, b = default", [("a", "DEFAULT"), ("b", "default")]),
        ("UPDATE t SET a = b = c", [("a", "b = c")]),
        ("UPDATE t SET a == 1", [("a", "1")]),
        ("UPDATE t SET a = array(1, 2)[0], b = map('x', 1)['x']", [("a", "array(1, 2)[0]"), ("b", "map('x', 1)['x']")]),
    ],
)
def test_update(text, assignments):
    statement = read(text)
    assert [(".".join(a.column), a.value.text) for a in statement.assignments] == assignments


def merge(clauses, head="MERGE INTO t USING s ON t.id = s.id"):
    return read(f"{head} {clauses}")


@pytest.mark.parametrize(
    ("head", "source", "alias", "columns", "condition"),
    [
        ("MERGE INTO t USING s ON true", "s", None, (), "true"),
        ("MERGE INTO t USING a.b.s AS x ON x.id = t.id", "a.b.s", "x", (), "x.id = t.id"),
        ("MERGE INTO t AS y USING (SELECT 1 AS a) x (b) ON x.b = y.id", "(SELECT 1 AS a)", "x", ("b",), "x.b = y.id"),
        ("MERGE INTO t USING (SELECT ')' c) ON 1 = 1", "(SELECT ')' c)", None, (), "1 = 1"),
        ("MERGE INTO t USING ((VALUES (1)) ) v ON true", "((VALUES (1)) )", "v", (), "true"),
        ("MERGE INTO t USING range(1, 5) r ON true", "range(1, 5)", "r", (), "true"),
        ("MERGE INTO t USING s VERSION AS OF 3 x ON true", "s VERSION AS OF 3", "x", (), "true"),
        ("MERGE INTO t USING s FOR TIMESTAMP AS OF '2024-01-01' ON true", "s FOR TIMESTAMP AS OF '2024-01-01'", None,
         (), "true"),
        ("MERGE INTO t USING s TIMESTAMP AS OF date_sub(now(), 1) AS x ON true",
         "s TIMESTAMP AS OF date_sub(now(), 1)", "x", (), "true"),
        ("MERGE INTO t USING s ON CASE WHEN matched THEN true END", "s", None, (), "CASE WHEN matched THEN true END"),
        ("MERGE INTO t USING s ON t.when = s.id AND when IS NULL", "s", None, (), "t.when = s.id AND when IS NULL"),
        ("MERGE INTO t USING s ON t.case = s.end AND `when` = 'WHEN MATCHED'", "s", None, (),
         "t.case = s.end AND `when` = 'WHEN MATCHED'"),
        ("MERGE INTO t USING s ON t.id = s.id /* WHEN MATCHED THEN */ AND s.x", "s", None, (),
         "t.id = s.id /* WHEN MATCHED THEN */ AND s.x"),
    ],
)  # fmt: skip
def test_merge_heads(head, source, alias, columns, condition):
    statement = merge("WHEN MATCHED THEN DELETE", head)
    assert statement.source.text == source
    assert statement.source_alias == alias
    assert statement.source_columns == columns
    assert statement.condition.text == condition


@pytest.mark.parametrize(
    ("text", "kind", "action", "condition", "assignments"),
    [
        ("WHEN MATCHED THEN DELETE", "matched", "delete", None, []),
        ("WHEN MATCHED AND s.a > 1 THEN DELETE", "matched", "delete", "s.a > 1", []),
        ("WHEN MATCHED THEN UPDATE SET a = 1, t.b = s.b", "matched", "update", None, [("a", "1"), ("t.b", "s.b")]),
        ("WHEN NOT MATCHED THEN INSERT (a, t.b) VALUES (1, f(2, 3))", "not matched", "insert", None,
         [("a", "1"), ("t.b", "f(2, 3)")]),
        ("WHEN NOT MATCHED BY TARGET THEN INSERT (a) VALUES (DEFAULT)", "not matched", "insert", None,
         [("a", "DEFAULT")]),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE", "not matched by source", "delete", None, []),
        ("WHEN NOT MATCHED BY SOURCE AND a = 1 THEN UPDATE SET b = 2", "not matched by source", "update", "a = 1",
         [("b", "2")]),
        ("WHEN MATCHED AND CASE WHEN a THEN b ELSE c END THEN DELETE", "matched", "delete",
         "CASE WHEN a THEN b ELSE c END", []),
        ("WHEN MATCHED AND CASE CASE WHEN a THEN 1 END WHEN 1 THEN true END THEN DELETE", "matched", "delete",
         "CASE CASE WHEN a THEN 1 END WHEN 1 THEN true END", []),
        ("WHEN MATCHED THEN UPDATE SET a = CASE WHEN matched THEN 1 WHEN NOT matched THEN 2 END", "matched", "update",
         None, [("a", "CASE WHEN matched THEN 1 WHEN NOT matched THEN 2 END")]),
        ("WHEN MATCHED AND case = 1 THEN DELETE", "matched", "delete", "case = 1", []),
        ("WHEN MATCHED AND s.case AND 'THEN' <> `then` THEN DELETE", "matched", "delete",
         "s.case AND 'THEN' <> `then`", []),
        ("WHEN MATCHED AND (a /* ) THEN */ ) THEN DELETE", "matched", "delete", "(a /* ) THEN */ )", []),
    ],
)  # fmt: skip
def test_merge_clauses(text, kind, action, condition, assignments):
    (clause,) = merge(text).clauses
    assert (clause.kind, clause.action, clause.condition and clause.condition.text) == (kind, action, condition)
    assert [(".".join(a.column), a.value.text) for a in clause.assignments] == assignments


def test_merge_with_all_clauses():
    statement = merge(
        "WHEN MATCHED AND s.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT * WHEN NOT MATCHED BY SOURCE AND x THEN UPDATE SET a = 1"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE;",
        "WITH s AS (SELECT 1) MERGE INTO lake.db.t USING s ON t.id = s.id",
    )
    assert [(c.kind, c.action, c.star) for c in statement.clauses] == [
        ("matched", "delete", False),
        ("matched", "update", True),
        ("not matched", "insert", True),
        ("not matched by source", "update", False),
        ("not matched by source", "delete", False),
    ]
    assert statement.ctes.text == "WITH s AS (SELECT 1)"


@pytest.mark.parametrize(
    ("clauses", "condition"),
    [
        ("", "MERGE_WITHOUT_WHEN"),
        ("WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET *", "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION"),
        ("WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED AND a THEN INSERT *",
         "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION"),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED BY SOURCE AND a THEN DELETE",
         "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION"),
        ("WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)", "INSERT_COLUMN_ARITY_MISMATCH"),
        ("WHEN NOT MATCHED THEN INSERT (a) VALUES (1, 2)", "INSERT_COLUMN_ARITY_MISMATCH"),
    ],
)  # fmt: skip
def test_merge_contradictions(clauses, condition):
    with pytest.raises(ParseError) as caught:
        merge(clauses)
    assert caught.value.condition == condition


@pytest.mark.parametrize(
    "text",
    [
        "MERGE INTO t USING s ON true WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *",
    ],
)
def test_merge_refusals(text):
    with pytest.raises(UnsupportedError):
        read(text)


HOSTILE = [
    "'WHEN MATCHED THEN'",
    "'a''b'",
    "'\\''",
    '"THEN"',
    "r'\\'",
    "`WHEN`",
    "`a``b`",
    "CASE WHEN a THEN b END",
    "CASE x WHEN 1 THEN (CASE WHEN y THEN 2 END) END",
    "(a, (b), [c][0])",
    "/* THEN */ a",
    "a -- WHEN MATCHED\n",
    "/* /* x */ ' */ 1",
    "s.end",
    "1L",
    "é + '🌊'",
    "x -> x + 1",
    "m['THEN']",
    "(SELECT CASE WHEN 1 THEN 2 END FROM x WHERE y = ',')",
    "a <=> b",
    "`, `",
]


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_texts_come_back_as_they_were(value):
    trimmed = value if "--" not in value else "a"
    trimmed = trimmed.removeprefix("/* THEN */ ").removeprefix("/* /* x */ ' */ ")
    statement = merge(
        f"WHEN MATCHED AND {value} THEN UPDATE SET a = {value}, b = {value} "
        f"WHEN NOT MATCHED THEN INSERT (a, b) VALUES ({value}, {value})"
    )
    update, insert = statement.clauses
    assert update.condition.text == trimmed
    assert [a.value.text for a in (*update.assignments, *insert.assignments)] == [trimmed] * 4
