from __future__ import annotations

import pytest

from sqlext.sql.default_keyword import default_word, mentions_default


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("DEFAULT", "DEFAULT"),
        (" default ", "default"),
        ("((Default))", "Default"),
        ("/* a */ DEFAULT -- b", "DEFAULT"),
        ("DEFAULT + 1", None),
        ("s.DEFAULT", None),
        ("`DEFAULT`", None),
        ("'DEFAULT'", None),
        ("DEFAULT()", None),
    ],
)
def test_a_value_that_is_the_word_alone(text: str, word: str | None) -> None:
    assert default_word(text) == word


@pytest.mark.parametrize(
    ("query", "mentions"),
    [
        ("SELECT 1, (DEFAULT)", True),
        ("SELECT `default`", True),
        ("SELECT t.default FROM t", True),
        ("SELECT 'DEFAULT' /* DEFAULT */, \"a default\"", False),
        ("SELECT defaults FROM t", False),
    ],
)
def test_queries_in_which_the_word_may_have_a_meaning(query: str, mentions: bool) -> None:
    assert mentions_default(query) is mentions
