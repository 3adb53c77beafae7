"""docs/errors.md: error conditions as `sqlext.error_conditions`, what raises them, and recorded results have them.

`PYTHONPATH=.:tests python3 tests/error_page.py` writes them anew. Each has an example: a statement of a golden test, a
program, or else the message of a test that makes the fault. With `--record [condition …]` the tests of the last two run
first, all or those of these conditions, and their messages are recorded.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import recorded_errors
import sqlext
from error_examples import IN_SPARK, PROGRAMS, message, program
from recorded_errors import recorded_message
from sqlext import errors
from sqlext.error_conditions import CONDITIONS
from sqlext.error_conditions.condition import Condition

TESTS = Path(__file__).resolve().parent
DOCS = TESTS.parent / "docs" / "errors.md"
_PACKAGE = Path(str(sqlext.__file__)).parent
_RESULTS = TESTS / "golden" / "results"
_BEGIN = "<!-- what follows is made by tests/error_page.py -->\n"
_GROUPS = {
    "names": "Names",
    "statements": "Statements, sessions and procedures",
    "rows": "Rows and changes",
    "table_format": "Files of tables",
    "catalogs": "Catalogs, commits and transactions",
    "streams": "Streams",
}
"""The modules of `sqlext.error_conditions`, each with its heading."""
_PLAIN = {"way_out": "what to do", "by_key": "statement", "ref": "branch or tag", "app_id": "application"}
_MOST_REASONS = 4
_PLACEHOLDER = re.compile(r"\{(\w+)(?:!r)?\}")
_SENTENCES = re.compile(r"(?<=[.?])\s+(?=[A-Z{])")


@dataclass(frozen=True)
class Example:
    """A statement of a golden test, and the message that it ends with."""

    statement: str
    message: str


@dataclass(frozen=True)
class Raised:
    """What the calls that make an error of a condition say: its class, and the texts that they give as a parameter."""

    classes: tuple[str, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()


def reference() -> str:
    """A section for each module of conditions, and in it one for each condition, by name."""
    raised, examples = _raised(), _examples()
    sections = []
    for module, title in _GROUPS.items():
        table: Mapping[str, Condition] = getattr(
            importlib.import_module(f"sqlext.error_conditions.{module}"), module.upper()
        )
        sections.append(f"## {title}\n")
        sections += [
            _section(name, table[name], raised.get(name, Raised()), examples.get(name)) for name in sorted(table)
        ]
    return "\n".join(sections)


def _section(name: str, condition: Condition, raised: Raised, example: Example | None) -> str:
    said, *rest = sentences(condition.template)
    classes = "".join(f", `{one}`" for one in raised.classes)
    lines = [f"### {name}\n", f"SQLSTATE `{condition.sqlstate}`{classes}. {_plain(said)}\n"]
    if rest:
        lines.append(f"{_plain(' '.join(rest))}\n")
    for parameter in dict.fromkeys(parameter for parameter, _ in raised.texts):
        texts = [text for one, text in raised.texts if one == parameter]
        more = "\n- …" if len(texts) > _MOST_REASONS else ""
        listed = "".join(f"\n- {text}" for text in texts[:_MOST_REASONS])
        lines.append(f"*{_word(parameter)}* is, among others:\n{listed}{more}\n")
    lines.append(_shown(name, example))
    return "\n".join(lines)


def sentences(template: str) -> list[str]:
    """What a message says first, what was refused and why; then what to do, and what became of the table."""
    return _SENTENCES.split(template)


def _shown(name: str, example: Example | None) -> str:
    """An example as Markdown. Raises KeyError for a condition that has none."""
    if example is not None:
        return f"```text\n{example.statement}\n\n{example.message}\n```\n"
    if name in PROGRAMS:
        return f"```python\n{program(name)}\n```\n\n```text\n{message(name)}\n```\n"
    told = f"```text\n{recorded_message(name)}\n```\n"
    if name in IN_SPARK:
        return f"```python\n{program(name)}\n```\n\n{told}"
    test = recorded_errors.TESTS[name].partition("::")[0]
    return f"As [a test](../tests/{test}) has it:\n\n{told}"


def conditions_without_example() -> list[str]:
    """Those that nothing ends with whose message could be shown."""
    known = {*_examples(), *PROGRAMS, *IN_SPARK, *recorded_errors.TESTS}
    return sorted(CONDITIONS.keys() - known)


def _plain(template: str) -> str:
    """A template as Markdown, with its placeholders as words in italics."""
    return _PLACEHOLDER.sub(lambda found: f"*{_word(found[1])}*", _markdown(template))


def _markdown(text: str) -> str:
    escaped = re.sub(r"([*`\[\]\\])", r"\\\1", text)
    return escaped.replace("&", "&amp;").replace("<", "&lt;")


def _word(parameter: str) -> str:
    return _PLAIN.get(parameter, parameter.replace("_", " "))


# what raises them


def _raised() -> dict[str, Raised]:
    classes = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    found: dict[str, Raised] = {}
    for path in sorted(_PACKAGE.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Constant)):
                continue
            name, condition = _called(call.func), call.args[0].value
            if name in classes and condition in CONDITIONS:
                before = found.get(condition, Raised())
                found[condition] = Raised(
                    tuple(sorted({*before.classes, name})), tuple(dict.fromkeys([*before.texts, *_texts(call)]))
                )
    return found


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _texts(call: ast.Call) -> Iterator[tuple[str, str]]:
    for keyword in call.keywords:
        if keyword.arg in ("reason", "way_out") and (text := _literal(keyword.value)):
            yield keyword.arg, text


def _literal(value: ast.expr) -> str | None:
    """The text of a literal as Markdown, with an ellipsis for what an f-string computes; None if it is computed."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return _markdown(value.value)
    if not isinstance(value, ast.JoinedStr):
        return None
    parts = [_markdown(str(part.value)) if isinstance(part, ast.Constant) else "…" for part in value.values]
    return "".join(parts) if any(part.strip(" .:…") for part in parts) else None


# examples


def _examples() -> dict[str, Example]:
    """The shortest recorded statement for each condition; one with the condition's own message comes before Spark's."""
    found: dict[str, Example] = {}
    for path in sorted(_RESULTS.glob("*.out")):
        for example in recorded(path.read_text()):
            name = example.message[1 : example.message.index("]")]
            if name in CONDITIONS and (name not in found or _rank(name, example) < _rank(name, found[name])):
                found[name] = example
    return found


def recorded(text: str) -> Iterator[Example]:
    """The statements of a recorded result that end with an error."""
    for block in text.split("\n\n"):
        statement, error, message = block.partition("\n-- error\n")
        if error and message.startswith("["):
            code = [line for line in statement.splitlines() if not line.startswith("-- ")]
            yield Example("\n".join(code), message.partition("\n--")[0].strip())


def _is_of(condition: Condition, message: str) -> bool:
    parts = re.split(r"\{\w+(?:!r)?\}", condition.template)
    template = ".*".join(map(re.escape, parts))
    return re.search(template, message.replace("\n", " "), re.DOTALL) is not None


def _rank(name: str, example: Example) -> tuple[bool, int]:
    return not _is_of(CONDITIONS[name], example.message), len(example.statement) + len(example.message)


def written(text: str) -> str:
    """The page with its conditions made anew."""
    return f"{text[: text.index(_BEGIN) + len(_BEGIN)]}\n{reference()}"


def record(conditions: Sequence[str]) -> int:
    """Runs the tests whose messages are recorded, of these conditions or of all; the exit code is that of pytest."""
    tests = {**{one: f"{recorded_errors.PROGRAMS_IN_SPARK}[{one}]" for one in IN_SPARK}, **recorded_errors.TESTS}
    chosen = [f"tests/{test}" for condition, test in tests.items() if not conditions or condition in conditions]
    environment = {**os.environ, recorded_errors.RECORDING: "1"}
    return subprocess.call([sys.executable, "-m", "pytest", "-q", "-m", "", *chosen], env=environment, cwd=TESTS.parent)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"] and record(sys.argv[2:]) != 0:
        sys.exit("not all tests ended as they should; the page is as it was")
    if missing := conditions_without_example():
        sys.exit(f"no example of {', '.join(missing)}")
    DOCS.write_text(written(DOCS.read_text()))
