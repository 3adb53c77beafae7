"""The blocks of code in README.md, CONTRIBUTING.md and docs/, and what runs them.

Each is run by a test of `RUN_BY`, or stands in `NOT_RUN` with the reason; `tests/unit/test_code_blocks.py` finds those
that do neither. A fenced block has the language that its fence names; an indented one is a doctest if it begins with
`>>>`, and otherwise without a language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
)
GUIDES = tuple(page for page in PAGES if page.startswith("docs/from-"))
"""For people who come from elsewhere."""
SHOWN = ("text", "mermaid")
"""Languages of what is read and not run: output, the syntax of statements, drawings."""
DOCTEST, INDENTED = "doctest", ""
COMMANDS = r"(python3|\.venv/bin/python) "
"""Lines of a block of commands that run tests, benchmarks or tools of the clone, which take from seconds to hours. That
their scripts, options and suites are there is tested instead."""

RUN_BY: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("README.md", "python"): ("tests/session/sessions/test_page_blocks.py", "tests/unit/local/test_documents.py"),
    ("docs/catalogs.md", "python"): ("tests/session/sessions/test_page_blocks.py",),
    ("docs/errors.md", "python"): ("tests/unit/test_error_page.py", "tests/session/sessions/test_error_examples.py"),
    ("docs/first-steps.md", "console"): ("tests/session/sessions/test_first_steps.py",),
    ("docs/first-steps.md", DOCTEST): ("tests/session/sessions/test_first_steps.py",),
    **{(page, "sql"): ("tests/session/sessions/test_page_blocks.py",) for page in GUIDES},
    ("docs/local.md", "python"): ("tests/unit/local/test_documents.py",),
    ("docs/production.md", "sql"): ("tests/session/sessions/test_page_blocks.py",),
    ("docs/python.md", DOCTEST): ("tests/session/sessions/test_python_page.py",),
    ("docs/sql.md", "python"): ("tests/session/sessions/test_page_blocks.py",),
    ("docs/sql.md", "sql"): ("tests/session/sessions/test_page_blocks.py",),
    ("docs/terminal.md", "console"): ("tests/unit/terminal/test_page.py",),
    ("docs/terminal.md", "python"): ("tests/session/sessions/test_page_blocks.py",),
    ("docs/testing.md", "python"): (
        "tests/unit/testing/test_documents.py",
        "tests/session/testing/test_fixtures_in_spark.py",
    ),
}
"""The tests that run the blocks of a page in a language."""

_WHEEL = "it makes or installs the wheel; tests/unit/test_distributions.py and tests/matrix/run.py --only core do so"
NOT_RUN: Mapping[tuple[str, str], str] = {
    ("README.md", "python3 notebooks/flights.py"): "it loads flights and runs the tests; tests/test_environment.py",
    ("README.md", "python3 .ci/release.py"): _WHEEL,
    ("docs/benchmarks.md", "pip install 'deltalake>=1'"): "a package of a benchmark",
    ("docs/first-steps.md", ".venv/bin/python -m pip install jupyterlab"): "it installs and starts Jupyter; "
    "tests/notebooks/test_notebooks.py runs the notebooks",
    ("docs/testing.md", "pip install"): _WHEEL,
    ("docs/catalogs.md", "spark = sqlext.session(spark_catalog="): "the session catalog of an application is one; "
    "tests/session/sessions/test_session_catalog.py has it in a process of its own",
    ("docs/catalogs.md", "spark.sql.catalog.lake "): "a database of the reader's; tests/catalog has one",
    ("docs/catalogs.md", "pip install dist"): "a process without Python's driver; tests/drivers/test_spark_sql.py",
    ("docs/catalogs.md", "$SPARK_HOME/sbin"): "a server of its own; tests/drivers/test_connect.py",
    ("docs/catalogs.md", "spark-submit --class"): "a server of its own; tests/drivers/test_thrift_server.py",
    ("docs/terminal.md", "export PYSPARK_SUBMIT_ARGS"): "a bucket of the reader's, and a jar of another Spark",
    ("docs/terminal.md", "export SQLEXT_CATALOG"): "a bucket and a server of the reader's; "
    "tests/unit/terminal/test_servers.py has its own",
}
"""Blocks that no test runs, by page and how they begin, and why."""


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A block of code in a page, without fences and indentation."""

    page: str
    line: int  # of its text, from 1 on
    language: str
    text: str


def code_blocks(page: str, language: str | None = None) -> list[CodeBlock]:
    """The blocks of a page in their order, all or those in a language."""
    blocks = _blocks(page, (ROOT / page).read_text())
    return [block for block in blocks if language is None or block.language == language]


def _blocks(page: str, text: str) -> Iterator[CodeBlock]:
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        fence = re.match(r"^( *)```(\w*)\s*$", lines[number])
        is_indented = lines[number].startswith("    ") and (number == 0 or not lines[number - 1].strip())
        if fence:
            end = next(later for later in range(number + 1, len(lines)) if lines[later].strip() == "```")
            body = [line.removeprefix(fence[1]) for line in lines[number + 1 : end]]
            yield CodeBlock(page, number + 2, fence[2], "\n".join(body))
            number = end + 1
        elif is_indented and not _in_list(lines, number):
            end = number
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            body = [line[4:] for line in lines[number:end]]
            language = DOCTEST if body[0].startswith(">>>") else INDENTED
            yield CodeBlock(page, number + 1, language, "\n".join(body).strip())
            number = end
        else:
            number += 1


def _in_list(lines: list[str], number: int) -> bool:
    """Whether an indented line goes on with an item of a list above it."""
    above = [line for line in lines[:number] if line.strip() and not line.startswith("  ")]
    return bool(above) and re.match(r"([-*]|\d+\.) ", above[-1]) is not None


def is_of(block: CodeBlock, entry: tuple[str, str]) -> bool:
    """Whether the block is that of an entry of `NOT_RUN`."""
    page, beginning = entry
    return block.page == page and block.text.startswith(beginning)
