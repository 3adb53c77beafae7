"""Random expressions of Spark SQL that are hard to cut out of a statement; the same seed makes the same ones."""

from __future__ import annotations

import random
from collections.abc import Callable

_STRINGS = (
    "'a'",
    "''",
    "'it''s'",
    "'two''''quotes'",
    r"'it\'s'",
    r"'back\\slash'",
    r"'\\\''",
    r"'tab\t\u00e9\101'",
    "'-- no comment'",
    "'/* nor this'",
    "'*/'",
    "'`'",
    "'(['",
    "'WHEN'",
    "'$1'",
    "'line\nbreak'",
    "'žluť 🐎'",
    r"r'raw\'",
    "R'raw'",
    "'adjacent' ' strings'",
    "'a' -- between\n 'b'",
    "'%' || '_'",
)
_DOUBLE_QUOTED = ('"name"', '"a b"', '"it\'s"', '"two""quotes"', '"WHEN"', '"("', '"--x"', '"ž"')
_NUMBERS = (
    "1",
    "-1",
    "0",
    "1L",
    "2S",
    "3Y",
    "1.5",
    ".5",
    "5.",
    "1e3",
    "1E-3",
    "1e3D",
    "1.5BD",
    "2.0F",
    "1D",
    ".5e2",
    "9223372036854775808",
)
_LITERALS = (
    "NULL",
    "true",
    "DATE'2024-01-31'",
    "DATE '2024-01-31'",
    "TIMESTAMP'2024-01-31 12:00:00'",
    "TIMESTAMP_NTZ'2024-01-31 12:00:00'",
    "X'1F2E'",
    "x'00'",
    "INTERVAL 1 DAY",
    "INTERVAL '1-2' YEAR TO MONTH",
    "INTERVAL '1 02:03:04.5' DAY TO SECOND",
    "INTERVAL -1 MONTH 2 DAYS",
    "current_date",
    "current_timestamp()",
)
_NAMES = (
    "a",
    "b",
    "t.a",
    "s.b",
    "`a b`",
    "`tick``s`",
    "t.`case`",
    "`when`",
    "`it's`",
    '`dq"`',
    "case_1",
    "t.case",
    "t.end",
    "s.when",
    "values",
    "matched",
    "t.set",
    "date",
    "timestamp",
    "interval",
    "_x",
    "t.a.b.c",
    "`--`",
    "`/*`",
    "using",
    "`on`",
    "default_1",
    "t.default",
    "1x",
    "t.2y",
)
_GAPS = (" ", " ", " ", " ", "\n", "\t", " /* a comment */ ", " -- to the end; ') \n", " /* o /* inner */ ' */ ", "  ")
_TYPES = ("INT", "STRING", "DECIMAL(10,2)", "ARRAY<INT>", "MAP<STRING, ARRAY<INT>>", "STRUCT<a: INT, `b c`: STRING>")


class RandomExpression:
    """Makes expressions of a depth; not every one of them is one to Spark."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def expression(self, depth: int = 3) -> str:
        if depth <= 0 or self.rng.random() < 0.15:
            return self._leaf()
        makers: list[Callable[[int], str]] = [
            self._case,
            self._simple_case,
            self._cast,
            self._call,
            self._operator,
            self._condition,
            self._brackets,
            self._lambda,
            self._subquery,
            self._nested,
            self._window,
        ]
        return self.rng.choice(makers)(depth - 1)

    def _leaf(self) -> str:
        kinds = (_STRINGS, _NUMBERS, _LITERALS, _NAMES, _NAMES, _DOUBLE_QUOTED)
        return self.rng.choice(self.rng.choice(kinds))

    def _join(self, *parts: str) -> str:
        text = parts[0]
        for part in parts[1:]:
            text += self.rng.choice(_GAPS) + part
        return text

    def _case(self, depth: int) -> str:
        branches = []
        for _ in range(self.rng.choice([1, 1, 2])):
            branches += ["WHEN", self._condition(depth), "THEN", self.expression(depth)]
        rest = ["ELSE", self.expression(depth)] if self.rng.random() < 0.6 else []
        return self._join("CASE", *branches, *rest, self.rng.choice(["END", "end", "End"]))

    def _simple_case(self, depth: int) -> str:
        return self._join("case", self.expression(depth), "when", self._leaf(), "then", self.expression(depth), "END")

    def _cast(self, depth: int) -> str:
        type_ = self.rng.choice(_TYPES)
        inner = self.expression(depth)
        forms = [f"CAST({self._join(inner, 'AS', type_)})", f"try_cast({inner} AS {type_})", f"({inner})::{type_}"]
        return self.rng.choice(forms)

    def _call(self, depth: int) -> str:
        first, second = self.expression(depth), self.expression(depth)
        forms = [
            f"concat({first}, {second})",
            f"coalesce({first},{second})",
            f"if({self._condition(depth)}, {first}, {second})",
            f"array({first}, {second})[0]",
            f"map('k', {first})['k']",
            f"named_struct('a', {first}).a",
            f"struct({first} AS x, {second} AS `y z`)",
            f"element_at(array({first}), {second})",
            f"substring({self._leaf()} FROM 1 FOR 2)",
            f"extract(YEAR FROM {self._leaf()})",
            f"trim(BOTH 'x' FROM {self._leaf()})",
            f"position({first} IN {second})",
            f"count(DISTINCT {first}) FILTER (WHERE {self._condition(depth)})",
            f"date_add({first}, {second})",
            f"make_date(year => 2024, month => {first}, day => 1)",
        ]
        return self.rng.choice(forms)

    def _operator(self, depth: int) -> str:
        sign = self.rng.choice(["+", "-", "*", "/", "%", "||", "DIV", "&", "|", "^", "<<", ">>"])
        left, right = self.expression(depth), self.expression(depth)
        return self._join(f"({left})", sign, f"({right})") if self.rng.random() < 0.5 else f"{left} {sign} {right}"

    def _condition(self, depth: int) -> str:
        if depth <= 0:
            return self._join(self._leaf(), self.rng.choice(["=", "<=>", "<>", "!=", "<", ">=", "=="]), self._leaf())
        one, two = self.expression(depth - 1), self.expression(depth - 1)
        forms = [
            self._join(one, "IS NOT NULL"),
            self._join(one, "IS DISTINCT FROM", two),
            f"{one} IN ({two}, {self._leaf()})",
            f"{self._leaf()} NOT IN (SELECT x FROM u WHERE {self._condition(0)})",
            f"EXISTS (SELECT 1 FROM u WHERE u.k = t.a AND {self._condition(0)})",
            f"{self._leaf()} BETWEEN {self._leaf()} AND {self._leaf()}",
            f"{self._leaf()} LIKE 'a!_%' ESCAPE '!'",
            f"{self._leaf()} RLIKE r'\\d+'",
            f"{self._leaf()} LIKE ANY ('a', '%b')",
            f"NOT ({self._condition(depth - 1)})",
            self._join(self._condition(depth - 1), self.rng.choice(["AND", "OR", "and"]), self._condition(depth - 1)),
        ]
        return self.rng.choice(forms)

    def _brackets(self, depth: int) -> str:
        return f"({self.rng.choice(['', ' ', '/* ( */'])}{self.expression(depth)})"

    def _lambda(self, depth: int) -> str:
        forms = [
            f"transform(array({self._leaf()}), x -> {self.expression(depth)})",
            f"transform(a, (x, i) -> x + i + {self._leaf()})",
            f"aggregate(a, 0, (acc, x) -> acc + x, acc -> {self._leaf()})",
            f"filter(a, `when` -> `when` = {self._leaf()})",
        ]
        return self.rng.choice(forms)

    def _subquery(self, depth: int) -> str:
        forms = [
            f"(SELECT max(x) FROM u WHERE {self._condition(depth)})",
            "(SELECT /*+ BROADCAST(u) */ x FROM u ORDER BY x LIMIT 1)",
            f"(WITH q AS (SELECT {self._leaf()} AS x) SELECT x FROM q)",
            f"(SELECT CASE WHEN {self._condition(0)} THEN 1 END FROM VALUES (1), (2) AS v(x))",
        ]
        return self.rng.choice(forms)

    def _nested(self, depth: int) -> str:
        forms = [
            "t.a[0].b['k']",
            f"a[{self.expression(depth)}]",
            "t.`a b`.`c`[1]",
            f"-({self.expression(depth)})",
            f"~{self.rng.choice(_NUMBERS)}",
            f"a:b.c[0]::{self.rng.choice(_TYPES[:2])}",
        ]
        return self.rng.choice(forms)

    def _window(self, depth: int) -> str:
        frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        return f"sum({self._leaf()}) OVER (PARTITION BY {self._leaf()} ORDER BY {self._leaf()} {frame})"
