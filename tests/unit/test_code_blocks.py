"""Each block of code in README.md, CONTRIBUTING.md and docs/ is run by a test, or stands in a list with the reason."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from code_blocks import COMMANDS, DOCTEST, INDENTED, NOT_RUN, PAGES, ROOT, RUN_BY, SHOWN, CodeBlock, code_blocks, is_of

# Signatures, which tests/python_reference.py makes.
_SIGNATURES = "docs/python.md"


def _is_settled(block: CodeBlock) -> bool:
    if any(is_of(block, entry) for entry in NOT_RUN) or (block.page, block.language) in RUN_BY:
        return True
    if block.language == "sh" and all(re.match(COMMANDS, line) for line in block.text.splitlines()):
        return True
    return block.language in SHOWN or (block.page == _SIGNATURES and block.language == INDENTED)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_or_listed(page: str) -> None:
    open_ones = [(block.line, block.language, block.text) for block in code_blocks(page) if not _is_settled(block)]
    assert open_ones == [], "tests/code_blocks.py lists what runs a block, or why none does; an indented one is fenced"


def test_what_is_listed_is_there() -> None:
    blocks = [block for page in PAGES for block in code_blocks(page)]
    for entry in NOT_RUN:
        assert any(is_of(block, entry) for block in blocks), entry
    for (page, language), tests in RUN_BY.items():
        assert any((block.page, block.language) == (page, language) for block in blocks), (page, language)
        for test in tests:
            assert (ROOT / test).exists(), test


def test_reasons_name_tests_that_are_there() -> None:
    named = {path for reason in NOT_RUN.values() for path in re.findall(r"tests/[\w/.]*\w", reason)}
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def _commands() -> list[tuple[str, str]]:
    """Commands of blocks of the shell that start a script of the clone, each with its page."""
    found = []
    for block in (block for page in PAGES for block in code_blocks(page, "sh")):
        for line in block.text.replace("\\\n", " ").splitlines():
            if line.startswith("python3 "):
                found.append((block.page, line))
    return found


@pytest.mark.parametrize(("page", "command"), _commands())
def test_a_command_names_a_script_and_options_that_are_there(page: str, command: str) -> None:
    _, script, *arguments = shlex.split(command, comments=True)
    path = ROOT / script
    assert path.is_file()
    sources = "".join(one.read_text() for one in path.parent.glob("*.py"))
    for option in (one for one in arguments if one.startswith("--")):
        assert f'"{option}"' in sources, option
    for before, value in pairwise(arguments):
        if before == "--suite":
            assert [name for name in value.split(",") if f'"{name}"' not in sources] == []
        if (page, before) == ("README.md", script) or "/" in before:
            assert (ROOT / before).exists()


def test_blocks_are_told_by_fence_and_indentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text(
        "text\n\n```sql\nSELECT 1;\n```\n\n    >>> 1\n    1\n\n    >>> 2\n\ntext\n\n    plain\n\n- item\n\n"
        "    of the item\n\n  ```sh\n  python3 a.py\n  ```\n"
    )
    monkeypatch.setattr("code_blocks.ROOT", tmp_path)
    found = [(block.line, block.language, block.text) for block in code_blocks("page.md")]
    assert found == [
        (4, "sql", "SELECT 1;"),
        (7, DOCTEST, ">>> 1\n1\n\n>>> 2"),
        (14, INDENTED, "plain"),
        (21, "sh", "python3 a.py"),
    ]
