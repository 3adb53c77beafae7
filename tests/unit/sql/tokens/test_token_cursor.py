import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.errors import ParseError
from sqlext.sql.tokens.token_cursor import TokenCursor, tokenize

PIECES = st.sampled_from(
    [
        "a", "`b c`", "`x``y`", "'s'", "'it''s'", r"'\''", '"d"', "r'\\'", "1", "1L", "2.5BD", "1e3", "t.5a", "x'0F'",
        "CASE WHEN a THEN b END", "(a, b)", "[1]", "f(x -> x)", "<=>", "||", "->", "::", "-- c\n", "/* c */",
        "/* /* n */ */", "é", "🌊x", "WHEN", "THEN", "date '2020-01-01'", "primary key", ":p", "?", "a.b.c",
    ]
)  # fmt: skip
GAPS = st.sampled_from([" ", "\n", "\t", " -- c\n", " /* ' */ "])


@given(st.lists(st.tuples(PIECES, GAPS), max_size=12))
def test_tokens_and_the_gaps_between_them_are_the_text(pieces):
    text = "".join(piece + gap for piece, gap in pieces)
    done = 0
    for token in tokenize(text):
        assert text[token.start : token.end] == token.text
        gap = text[done : token.start]
        assert gap.strip() == "" or gap.strip()[:2] in ("--", "/*")
        done = token.end
    assert text[done:].strip()[:2] in ("", "--", "/*")


@given(st.lists(st.tuples(PIECES, GAPS), min_size=1, max_size=8))
def test_a_slice_is_the_text_it_came_from(pieces):
    value = " ".join(piece for piece, _ in pieces if piece not in ("-- c\n", "/* c */", "/* /* n */ */")) or "a"
    text = f"SET x = {value} , y"
    cursor = TokenCursor(text)
    cursor.expect("SET")
    cursor.name()
    cursor.expect("=")
    sliced = cursor.slice_until(lambda: cursor.at(","))
    assert sliced.text == value == text[sliced.start : sliced.end]


def test_words_do_not_span_comments_or_case():
    tokens = tokenize("Primary /* c */ key order -- x\n by 'a'")
    assert [token.word or token.text for token in tokens] == ["PRIMARY", "KEY", "ORDER", "BY", "'a'"]


@pytest.mark.parametrize("text", ["(a", "a)", "(a]", "f([1)", "{a", "CASE WHEN (a THEN b END"])
def test_brackets_must_close(text):
    with pytest.raises(ParseError):
        TokenCursor(text).slice_to_end("an expression")


@pytest.mark.parametrize("text", ["'a", '"a', "`a", "/* a", "/* /* a */"])
def test_quotes_and_comments_must_end(text):
    with pytest.raises(ParseError):
        tokenize(text)


@pytest.mark.parametrize(
    "value",
    [
        "a::MAP<STRING, INT>",
        "a::STRUCT<x: INT, y: ARRAY<MAP<INT, INT>>> IS NULL",
        "array < 3",
        "case .5 WHEN 1 THEN b END",
    ],
)
def test_commas_of_types_and_numbers_that_begin_with_a_point(value):
    cursor = TokenCursor(f"{value}, b > 4 THEN")
    assert cursor.slice_until(lambda: cursor.at_any(frozenset({",", "THEN"}))).text == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('SET "a b" = \'"c"\'', "SET `a b` = '\"c\"'"),
        ('"a""b" = r"raw"', '`a"b`  = r"raw"'),
        ('"tick`" -- "no"\n', '`tick``` -- "no"\n'),
        ('"t"."x"', "`t`.`x`"),
    ],
)
def test_names_in_double_quotes(text, expected):
    cursor = TokenCursor(text, double_quoted_identifiers=True)
    assert (cursor.text, cursor.written) == (expected, text)
