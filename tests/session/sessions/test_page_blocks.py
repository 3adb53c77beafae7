"""The blocks of SQL and Python in README.md and docs/ that need a session run as they stand, page by page.

What they call `lake` is a catalog of their own, so that they meet no tables of other tests; all their folders are below
one. docs/first-steps.md, docs/python.md and docs/errors.md have tests of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from code_blocks import GUIDES, NOT_RUN, ROOT, CodeBlock, code_blocks, is_of
from golden.runner import split_statements

ORDERS = """
    CREATE TABLE pages.db.orders (
      order_id BIGINT, purchaser STRING, quantity INT, PRIMARY KEY (order_id)
    )
"""
"""The table that pages other than those that make it themselves begin with."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages").resolve()


@pytest.fixture
def pages(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """A session with the catalog `pages`, whose namespace `db` is empty, in the folder of its warehouse."""
    monkeypatch.chdir(folder)
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.pages", "io.sqlext.Catalog")
    session.conf.set("spark.sql.catalog.pages.warehouse", str(folder / "warehouse"))
    session.sql("CREATE NAMESPACE pages.db")
    yield session
    session.sql("DROP NAMESPACE pages.db CASCADE")


def to_run(page: str) -> list[CodeBlock]:
    """The page's blocks in SQL, and those in Python that need a session."""
    return [
        block
        for block in code_blocks(page)
        if block.language in ("python", "sql")
        and not any(is_of(block, one) for one in NOT_RUN)
        and "sqlext.local" not in block.text
    ]


def run_blocks(spark: SparkSession, page: str) -> int:
    """Runs them in the page's order; the number of blocks."""
    names: dict[str, object] = {"spark": spark}
    blocks = to_run(page)
    for block in blocks:
        text = re.sub(r"\blake\b", "pages", block.text.replace("/data/lake", str(Path.cwd() / "warehouse")))
        text = text.replace('"./checkpoints', f'"{Path.cwd()}/checkpoints')  # the JVM has another working folder
        if block.language == "python":
            exec(compile("\n" * block.line + text, page, "exec"), names)
            continue
        for statement in split_statements(text if text.endswith(";") else f"{text};"):
            try:
                spark.sql(statement.text).collect()
            except Exception as error:
                raise AssertionError(f"{page}, line {block.line}: {statement.text}") from error
    return len(blocks)


def test_the_tour_of_the_readme(pages: SparkSession) -> None:
    assert run_blocks(pages, "README.md") == 1
    rows = pages.sql("SELECT order_id, purchaser FROM pages.db.orders ORDER BY order_id").collect()
    assert [tuple(row) for row in rows] == [(1, "Ada"), (2, "Eve")]


@pytest.mark.parametrize("page", ["docs/catalogs.md", "docs/production.md", "docs/terminal.md"])
def test_a_page_about_a_table_that_is_there(pages: SparkSession, page: str) -> None:
    pages.sql(ORDERS)
    assert run_blocks(pages, page)


@pytest.mark.parametrize("page", ["docs/production.md"])
def test_whole_statements_within_the_text_run(pages: SparkSession, page: str) -> None:
    pages.sql(ORDERS)
    statements = re.findall(r"`((?:CALL|SELECT) [^`…]*\blake\.[^`…]*)`", (ROOT / page).read_text())
    assert len(statements) > 5
    for text in statements:
        pages.sql(re.sub(r"\blake\b", "pages", text)).collect()


@pytest.mark.parametrize("page", GUIDES)
def test_what_a_guide_begins_with(pages: SparkSession, page: str) -> None:
    assert run_blocks(pages, page) == 1


def test_the_reference_of_statements(pages: SparkSession) -> None:
    """Its examples follow each other: each works on the tables of those above it."""
    assert run_blocks(pages, "docs/sql.md") > 10
