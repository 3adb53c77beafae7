"""sqlglot's Spark dialect with the tokens of Spark's own lexer."""

from __future__ import annotations

from typing import ClassVar

from sqlglot.dialects.spark import Spark


class SqlextSpark(Spark):  # type: ignore[misc]
    """Spark SQL for reading only; no text is generated from it.

    A token is one word or one literal. Statement heads such as SHOW do not take the rest of the text, no keyword spans
    two words (a comment may be between them), and a doubled quote inside a string is part of the string.
    """

    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]
        COMMANDS: ClassVar[set[object]] = set()
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        KEYWORDS: ClassVar[dict[str, object]] = {
            word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if " " not in word
        }
