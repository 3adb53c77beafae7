import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.sql.tokens.quoting import quote_identifier, quote_name, quote_string, unquote_identifier, unquote_string
from sqlext.sql.tokens.token_cursor import tokenize


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("''", ""),
        ("'a'", "a"),
        ('"a"', "a"),
        ("'a''b'", "a'b"),
        ("''''", "'"),
        ('"a""b"', 'a"b'),
        ("'a\"\"b'", 'a""b'),
        (r"'a\'b'", "a'b"),
        (r"'a\\b'", "a\\b"),
        (r"'\\''x'", "\\'x"),
        (r"'\n\t\r\b\0\Z'", "\n\t\r\b\0\x1a"),
        (r"'\%\_'", r"\%\_"),
        (r"'\u00e9\U0001F30A'", "é🌊"),
        (r"'\101'", "A"),
        (r"'\x'", "x"),
        (r"r'a\nb'", r"a\nb"),
        (r"R'a\'", "a\\"),
        ("'日本'", "日本"),
    ],
)
def test_string_literals_read_as_spark_reads_them(literal, value):
    assert unquote_string(literal) == value


def test_escaped_string_literals_keep_backslashes():
    assert unquote_string(r"'a\nb'", escaped=True) == r"a\nb"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_strings_survive_quoting_and_the_lexer(value):
    literal = quote_string(value)
    (token,) = tokenize(literal)
    assert (token.kind, token.text, unquote_string(literal)) == ("string", literal, value)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_names_survive_quoting_and_the_lexer(value):
    quoted = quote_identifier(value)
    (token,) = tokenize(quoted)
    assert (token.kind, token.text, unquote_identifier(quoted)) == ("quoted", quoted, value)


def test_dotted_names():
    assert quote_name(("a", "b.c", "d`e")) == "`a`.`b.c`.`d``e`"
