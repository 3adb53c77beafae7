"""A statement's text as tokens, and a cursor over them that cuts slices.

Everything that goes on to Spark is `text[start:end]` between two tokens; nothing is generated from a tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

from sqlext.errors import ParseError, UnsupportedError
from sqlext.sql.statements.statement import Slice
from sqlext.sql.tokens.dialect import SqlextSpark
from sqlext.sql.tokens.quoting import quote_identifier, unquote_identifier, unquote_string

TokenKind: TypeAlias = Literal["word", "quoted", "string", "number", "literal", "symbol", "hint", "end"]

_LITERAL_KINDS: dict[TokenType, TokenKind] = {
    TokenType.STRING: "string",
    TokenType.RAW_STRING: "string",
    TokenType.NUMBER: "number",
    TokenType.HEX_STRING: "literal",
    TokenType.BIT_STRING: "literal",
    TokenType.BYTE_STRING: "literal",
    TokenType.NATIONAL_STRING: "literal",
    TokenType.IDENTIFIER: "quoted",
}
_HINT = "/*+"
_COMMENT_START = re.compile(r"--[^\n]*|/\*\+?")
_COMMENT_MARK = re.compile(r"/\*|\*/")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_NESTED_TYPES = frozenset({"ARRAY", "MAP", "STRUCT"})


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is as written; `word` its upper case when it is an unquoted word, else empty. A hint is one token."""

    kind: TokenKind
    text: str
    word: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Tokens of `text` in order, without comments. Raises ParseError for a quote or comment without end.

    sqlglot takes a hint after most words for a comment; here each hint is a token, so that none is lost unnoticed.
    """
    try:
        raw_tokens = SqlextSpark().tokenize(text)
    except TokenError as error:
        raise ParseError(
            "PARSE_SYNTAX_ERROR",
            near="the end of the text",
            line=text.count("\n") + 1,
            column=len(text) - (text.rfind("\n") + 1) + 1,
            expected="an end to every quote and comment",
        ) from error
    tokens: list[Token] = []
    for raw in raw_tokens:
        if tokens and raw.start < tokens[-1].end:
            continue  # sqlglot reads 1L as 1 :: BIGINT, three tokens over the same text
        piece = text[raw.start : raw.end + 1]
        kind = "hint" if piece.startswith(_HINT) else _LITERAL_KINDS.get(raw.token_type)
        if kind is None:
            kind = "word" if piece[0].isalnum() or piece[0] == "_" else "symbol"
        tokens.append(Token(kind, piece, piece.upper() if kind == "word" else "", raw.start, raw.end + 1))
    return _with_hints(text, tokens) if _HINT in text else tokens


def _with_hints(text: str, tokens: Sequence[Token]) -> list[Token]:
    found: list[Token] = []
    done = 0
    for token in (*tokens, None):
        end = len(text) if token is None else token.start
        found += [Token("hint", text[start:stop], "", start, stop) for start, stop in _hints_between(text, done, end)]
        if token is not None:
            found.append(token)
            done = token.end
    return found


def _hints_between(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Start and end of each hint in white space and comments. Comments nest, hints do not."""
    at = start
    while (mark := _COMMENT_START.search(text, at, end)) is not None:
        if mark[0] == _HINT:
            at = text.index("*/", mark.end()) + 2
            yield mark.start(), at
        else:
            at = mark.end() if mark[0] != "/*" else _end_of_comment(text, mark.end())


def _end_of_comment(text: str, at: int) -> int:
    depth = 1
    while depth and (mark := _COMMENT_MARK.search(text, at)) is not None:
        depth += 1 if mark[0] == "/*" else -1
        at = mark.end()
    return at


def with_backticks(text: str) -> str:
    """The text with backticks, which quote names under any setting, in place of the double quotes of names.

    Offsets stay as they are, unless a name has a backtick in it.
    """
    pieces: list[str] = []
    done = 0
    for token in tokenize(text):
        if token.text.startswith('"'):
            name = quote_identifier(token.text[1:-1].replace('""', '"'))
            pieces += text[done : token.start], name.ljust(token.end - token.start)
            done = token.end
    return "".join((*pieces, text[done:]))


class TokenCursor:
    """Reads a statement from left to right; every refusal names its line and column."""

    def __init__(
        self,
        text: str,
        *,
        escaped_string_literals: bool = False,
        double_quoted_identifiers: bool = False,
        case_sensitive: bool = False,
    ) -> None:
        self.written = text
        """The statement as the user wrote it; as long as `text`, unless a name in double quotes has a backtick."""
        self.text = with_backticks(text) if double_quoted_identifiers and '"' in text else text
        self.position = 0
        self.case_sensitive = case_sensitive
        """Whether column names that differ in case alone are different."""
        self._escaped = escaped_string_literals
        self._tokens = tokenize(self.text)
        while self._tokens and self._tokens[-1].text == ";":
            self._tokens.pop()
        self._end = Token("end", "", "", len(self.text), len(self.text))

    def peek(self, ahead: int = 0) -> Token:
        """The token `ahead` of the next one; the end token past the last."""
        index = self.position + ahead
        return self._tokens[index] if 0 <= index < len(self._tokens) else self._end

    def over(self, text: str) -> TokenCursor:
        """A cursor over another text, under the same settings."""
        return TokenCursor(text, escaped_string_literals=self._escaped, case_sensitive=self.case_sensitive)

    def cut(self, position: int) -> TokenCursor:
        """Ends the statement before token number `position`; the cursor over the rest, behind that token."""
        rest = copy(self)
        rest.position = position + 1
        self._tokens = self._tokens[:position]
        return rest

    @property
    def at_end(self) -> bool:
        return self.position >= len(self._tokens)

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these words or symbols."""
        return all((token := self.peek(i)).word == word or token.text == word for i, word in enumerate(words))

    def at_any(self, words: frozenset[str]) -> bool:
        """Whether the next token is one of these words or symbols."""
        return self.peek().word in words or self.peek().text in words

    def accept(self, *words: str) -> bool:
        """Step over these words if they come next."""
        if not self.at(*words):
            return False
        self.position += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Step over these words; ParseError if something else comes next."""
        for word in words:
            if not self.accept(word):
                self.fail(word)

    def expect_end(self) -> None:
        if not self.at_end:
            self.fail("the end of the statement")

    def name(self, expected: str = "a name") -> str:
        """One part of a name, unquoted."""
        token = self.peek()
        if token.kind not in ("word", "quoted") or token.text == "``":
            self.fail(expected)
        self.position += 1
        return unquote_identifier(token.text)

    def dotted_name(self, expected: str = "a name") -> tuple[str, ...]:
        """A name of one or more parts."""
        parts = [self.name(expected)]
        while self.accept("."):
            parts.append(self.name(expected))
        return tuple(parts)

    def name_list(self) -> tuple[str, ...]:
        """`(a, b, …)`."""
        self.expect("(")
        names = [self.name("a column name")]
        while self.accept(","):
            names.append(self.name("a column name"))
        self.expect(")")
        return tuple(names)

    def string(self, expected: str = "a string") -> str:
        """The value of a string literal; adjacent literals are one."""
        if self.peek().kind != "string":
            self.fail(expected)
        values = []
        while self.peek().kind == "string":
            values.append(unquote_string(self.peek().text, escaped=self._escaped))
            self.position += 1
        return "".join(values)

    def integer(self, expected: str = "an integer") -> int:
        token = self.peek()
        if token.kind != "number" or not token.text.isascii() or not token.text.isdigit():
            self.fail(expected)
        self.position += 1
        return int(token.text)

    def slice_from(self, first: int) -> Slice:
        """The text from token number `first` up to the cursor."""
        start, end = self._tokens[first].start, self._tokens[self.position - 1].end
        return Slice(self.text[start:end], start, end)

    def slice_until(self, stop: Callable[[], bool], expected: str = "an expression") -> Slice:
        """The text up to the first token where `stop()` holds outside all brackets and CASE … END, or to the end."""
        first = self.position
        open_groups: list[str] = []
        while not self.at_end and (open_groups or not stop()):
            self._track(open_groups)
            self.position += 1
        if any(group != "END" for group in open_groups):
            self.fail(next(group for group in reversed(open_groups) if group != "END"))
        if self.position == first:
            self.fail(expected)
        return self.slice_from(first)

    def slice_to_end(self, expected: str) -> Slice:
        return self.slice_until(lambda: False, expected)

    def written_to_end(self, expected: str) -> Slice:
        """The rest as the user wrote it; as in `text` if a name in double quotes has a backtick in it."""
        piece = self.slice_to_end(expected)
        unmoved = len(self.written) == len(self.text)
        return Slice(self.written[piece.start : piece.end], piece.start, piece.end) if unmoved else piece

    def group(self) -> Slice:
        """A bracketed group, brackets included."""
        if self.peek().text not in _CLOSING:
            self.fail("(")
        first = self.position
        return self.slice_until(lambda: self.position > first)

    def fail(self, expected: str) -> NoReturn:
        """Raises ParseError at the next token."""
        token = self.peek()
        line, column = self.line_and_column()
        near = f"'{token.text[:40]}'" if token.kind != "end" else "the end of the statement"
        raise ParseError("PARSE_SYNTAX_ERROR", near=near, line=line, column=column, expected=expected)

    def refuse(self, feature: str, reason: str) -> NoReturn:
        """Raises UnsupportedError at the next token, for syntax that is understood."""
        line, column = self.line_and_column()
        raise UnsupportedError("UNSUPPORTED_SYNTAX", feature=feature, line=line, column=column, reason=reason)

    def line_and_column(self) -> tuple[int, int]:
        """Line and column, from 1, of the next token."""
        offset = self.peek().start
        return self.text.count("\n", 0, offset) + 1, offset - (self.text.rfind("\n", 0, offset) + 1) + 1

    def _track(self, open_groups: list[str]) -> None:
        token = self.peek()
        if token.text in _CLOSING:
            open_groups.append(_CLOSING[token.text])
        elif self._opens_type(open_groups):
            open_groups.append(">")
        elif open_groups[-1:] == [">"] and token.text and not token.text.strip(">"):
            del open_groups[-len(token.text) :]  # two or more may be one token
        elif token.text in (")", "]", "}"):
            while open_groups and open_groups[-1] == "END":  # a column that is called case
                open_groups.pop()
            if not open_groups or open_groups.pop() != token.text:
                self.fail("a bracket that was opened")
        elif token.text == ";":
            self.fail("the end of the statement")
        elif token.word == "CASE" and self._opens_case():
            open_groups.append("END")
        elif token.word == "END" and open_groups[-1:] == ["END"] and self.peek(-1).text != ".":
            open_groups.pop()

    def _opens_type(self, open_groups: list[str]) -> bool:
        """Whether `<` here opens the parameters of a type after `::`, or of one within it, and is no comparison."""
        if self.peek().text != "<" or self.peek(-1).word not in _NESTED_TYPES:
            return False
        return self.peek(-2).text == "::" or open_groups[-1:] == [">"]

    def _opens_case(self) -> bool:
        """Whether the word CASE here begins an expression, and is no column's name."""
        following, then = self.peek(1), self.peek(2)
        if following.text == "." and then.kind == "number" and then.start == following.end:
            return True  # a number that begins with its point
        return self.peek(-1).text != "." and (following.kind != "symbol" or following.text in ("(", "-", "+", "~", "!"))
