import pytest

from sqlext.errors import NotFoundError, ParseError
from sqlext.sql.parser import parse


def read(text, current=("lake", "db"), catalogs=("lake",)):
    return parse(text, catalogs=catalogs, current=current)


def test_arguments_are_slices():
    call = read("CALL lake.system.Some_Thing('t', -1, a => map('x', f(1, 2)), `B` => NULL)")
    assert (call.catalog, call.procedure) == ("lake", "some_thing")
    assert [(one.name, one.value.text) for one in call.arguments] == [
        (None, "'t'"), (None, "-1"), ("a", "map('x', f(1, 2))"), ("b", "NULL"),
    ]  # fmt: skip


def test_no_arguments():
    assert read("CALL system.p();").arguments == ()


@pytest.mark.parametrize(
    ("text", "current", "catalogs", "catalog"),
    [
        ("CALL system.p('t')", ("lake", "db"), ("lake",), "lake"),
        ("CALL sqlext.system.p('t')", ("lake", "db"), ("lake", "b"), "lake"),
        ("CALL sqlext.system.p('b.db.t')", ("spark_catalog", "db"), ("lake", "b"), "b"),
        ("CALL sqlext.system.p('lake.db.t')", ("spark_catalog", "db"), ("lake",), "lake"),
    ],
)
def test_catalog(text, current, catalogs, catalog):
    assert read(text, current, catalogs).catalog == catalog


@pytest.mark.parametrize("text", ["CALL other.system.p('lake.t')", "CALL other.db.p()", "CALL other.p()", "CALL p()"])
def test_not_ours(text):
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "current"),
    [
        ("CALL lake.db.p()", "lake"),
        ("CALL lake.sys.p()", "spark_catalog"),
        ("CALL sys.p()", "lake"),
        ("CALL lake.p()", "b"),
    ],
)
def test_another_namespace_is_told(text, current):
    with pytest.raises(NotFoundError, match=r"Procedures are in the namespace system: CALL lake\.system\.p\("):
        read(text, (current, "db"))
    assert read("CALL sys.p()", ("spark_catalog", "db")) is None


@pytest.mark.parametrize(
    "text",
    [
        "CALL lake.system.p",
        "CALL lake.system.p(1",
        "CALL lake.system.p(a => 1, 2)",
        "CALL lake.system.p(a => 1, A => 2)",
    ],
)
def test_syntax_error(text):
    with pytest.raises(ParseError):
        read(text)
