import pytest

from sqlext.sql.tokens.expression_slice import column_references, equated_columns, has_subquery, plain_column


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("id + 1", ["id"]),
        ("s.id", ["s.id"]),
        ("a.b.c", ["a.b.c"]),
        ("`a b`.`c``d`", ["a b.c`d"]),
        ("transform(xs, x -> x + id)", ["xs", "id"]),
        ("aggregate(xs, 0, (acc, x) -> acc + x, acc -> acc)", ["xs"]),
        ("CAST(x AS date)", ["x"]),
        ("date", ["date"]),
        ("date '2020-01-01'", []),
        ("extract(year FROM ts)", ["ts"]),
        ("struct(a AS b, c)", ["a", "c"]),
        ("f(x => y)", ["y"]),
        ("interval 1 day", []),
        ("CASE WHEN id > 1 THEN `a b` ELSE value END", ["id", "a b", "value"]),
        ("m['k'].z + arr[i]", ["m", "arr", "i"]),
        ("'a' || 'id'", []),
        ("/* id */ a -- b\n + c", ["a", "c"]),
        ("é + 名", ["é", "名"]),
        ("CURRENT_DATE", []),
    ],
)
def test_columns_by_position(text, names):
    references = column_references(text)
    assert [".".join(r.parts) for r in references] == names
    for reference in references:
        assert text[reference.start :].lstrip("`").startswith(reference.parts[0].split("`")[0])


def test_names_in_subqueries_are_told_apart():
    references = column_references("a IN (SELECT b FROM x WHERE c = 1) AND EXISTS (SELECT d)")
    assert [(r.parts[0], r.in_subquery) for r in references] == [("a", False), ("b", True), ("c", True), ("d", True)]
    assert has_subquery("(SELECT 1)")
    assert not has_subquery("(1)")


def test_what_sqlglot_cannot_read():
    assert column_references("a:b:c") is None
    assert column_references("a +") is None


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("t.a = s.b", [("t.a", "s.b")]),
        ("((t.a) = (s.b))", [("t.a", "s.b")]),
        ("t.a = s.a AND (s.b = t.b AND c = d)", [("t.a", "s.a"), ("s.b", "t.b"), ("c", "d")]),
        ("t.a = s.a OR t.b = s.b", None),
        ("t.a <=> s.a", None),
        ("t.a = 1", None),
        ("t.a = s.a AND s.x", None),
        ("NOT t.a = s.a", None),
        ("t.a = s.a + 0", None),
        ("true", None),
    ],
)
def test_equated_columns(text, pairs):
    found = equated_columns(text)
    assert (found and [(".".join(a), ".".join(b)) for a, b in found]) == pairs


def test_plain_columns():
    assert plain_column("((s.a))") == ("s", "a")
    assert plain_column("s.*") is None
    assert plain_column("a + 1") is None
