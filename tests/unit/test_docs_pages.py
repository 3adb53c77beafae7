"""The pages lead where they say, on GitHub and as the site that `.ci/docs.py` makes."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from docs_pages import ROOT, linked

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").glob("*.md")])
FENCES = re.compile(r"^ *```.*?^ *```[^\n]*$", re.MULTILINE | re.DOTALL)
LINKS = re.compile(r"\]\(([^()\s]+)\)|^\[[^\[\]\n]+\]: (\S+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCES.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for link in LINKS.finditer(FENCES.sub("", page.read_text())):
        target = link[1] or link[2]
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if "://" in target:
            continue
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            dead.append(target)
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_lists_stand_after_a_blank_line(page: Path) -> None:
    """Python's Markdown begins no list within a paragraph, as GitHub's does."""
    lines = FENCES.sub("", page.read_text()).splitlines()
    item = re.compile(r"([-*]|\d+\.) ")
    in_paragraph = re.compile(r"(?![ #|<]|[-*] |\d+\. )\S")
    found = [line for before, line in pairwise(lines) if in_paragraph.match(before) and item.match(line)]
    assert found == []


def test_links_to_files_outside_of_the_site_name_them_or_lead_to_the_repository() -> None:
    text = (
        "[tests/run.py](../tests/run.py), [a [b]\nc](../tests/README.md#d), [code](trust.md#names), [x](https://a.b/c)"
    )
    assert linked(text, "docs/sql.md", "sql.md", "") == (
        "`tests/run.py`, a [b]\nc (`tests/README.md`), [code](trust.md#names), [x](https://a.b/c)"
    )
    assert linked(text, "docs/sql.md", "sql.md", "https://host/main/") == (
        "[tests/run.py](https://host/main/tests/run.py), [a [b]\nc](https://host/main/tests/README.md#d),"
        " [code](trust.md#names), [x](https://a.b/c)"
    )


def test_pages_beside_docs_are_of_the_site() -> None:
    assert (
        linked("[a](docs/sql.md#types) [b](LICENSE)", "README.md", "index.md", "") == "[a](sql.md#types) b (`LICENSE`)"
    )
    one = "decisions/0003-where-icebergs-runtime-is-not-followed.md"
    assert (
        linked("[a](../../CHANGELOG.md) [b](../sql.md)", f"docs/{one}", one, "")
        == "[a](../changelog.md) [b](../sql.md)"
    )


def test_drawings_are_shown() -> None:
    text = "![two](drawings/two-writers.svg), [its text](drawings/two-writers.txt)"
    assert linked(text, "docs/architecture.md", "architecture.md", "") == text


def test_links_by_labels() -> None:
    text = (
        "| [yes][s-a] | [no][s-b] | [x][i-c] |\n\n[s-a]: ../tests/run.py\n[s-b]: trust.md#names\n[i-c]: https://a.b/c\n"
    )
    assert linked(text, "docs/sql.md", "sql.md", "https://host/main/") == text.replace(
        "../tests", "https://host/main/tests"
    )
    assert linked(text, "docs/sql.md", "sql.md", "") == text.replace(
        "[yes][s-a]", '<span title="tests/run.py">yes</span>'
    ).replace("[s-a]: ../tests/run.py\n", "")


def test_code_is_left_as_it_is() -> None:
    text = "```\n[a](../tests/run.py)\n```\n"
    assert linked(text, "docs/sql.md", "sql.md", "") == text


def test_the_site_is_made_without_a_warning_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra docs of pyproject.toml has it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(ROOT / ".ci" / "mkdocs.yml")]
    made = subprocess.run([*command, "-d", str(tmp_path / "site")], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert 'src="drawings/statement.svg"' in (tmp_path / "site" / "architecture.html").read_text()
    assert (tmp_path / "site" / "drawings" / "statement.svg").exists()
    assert {"index.html", "errors.html", "changelog.html", "sql.html"} <= {page.name for page in pages}
    for page in pages:
        loaded = re.findall(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(https?://[^"]+)"', page.read_text())
        assert loaded == [], page
