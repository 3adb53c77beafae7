"""The dialect that reads statements: sqlglot's Spark dialect, cut into the tokens of Spark's own lexer."""

from __future__ import annotations

from typing import ClassVar

from sqlglot.dialects.spark import Spark


class SqlextSpark(Spark):  # type: ignore[misc]
    """Spark SQL for reading only; nothing is ever generated from it.

    A token is one word or one literal. Statement heads such as SHOW do not swallow the rest of the text, no keyword
    spans two words (a comment may stand between them), and a doubled quote inside a string is part of that string.
    """

    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]
        COMMANDS: ClassVar[set[object]] = set()
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        KEYWORDS: ClassVar[dict[str, object]] = {
            word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if " " not in word
        }
