"""The tables of docs/comparison.md and README.md: each cell has its proof, a test here or a page of the peer's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE, README = ROOT / "docs" / "comparison.md", ROOT / "README.md"
LINK = re.compile(r"\[([^\[\]]+)\]\[([^\[\]]+)\]")
ICEBERG = ("https://iceberg.apache.org/", "https://github.com/apache/iceberg/")
PEERS = (
    ICEBERG,
    ("https://docs.delta.io/", "https://github.com/delta-io/"),
    ("https://paimon.apache.org/docs/", "https://github.com/apache/paimon/"),
    ("https://py.iceberg.apache.org/", "https://github.com/apache/iceberg-python/", *ICEBERG),
)


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    target: str
    """An address, or the path of a file in the clone."""


def definitions(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^\[([^\[\]]+)\]: (\S+)$", page.read_text(), re.MULTILINE)


def _in_clone(page: Path, target: str) -> str:
    return target if "://" in target else (page.parent / target).resolve().relative_to(ROOT).as_posix()


def rows(page: Path) -> dict[str, list[Cell]]:
    """The cells behind the first one of each row, which is the key; each has one link and nothing else."""
    named = {label: _in_clone(page, target) for label, target in definitions(page)}
    found: dict[str, list[Cell]] = {}
    for line in re.findall(r"^\|(.*\]\[.*)\|$", page.read_text(), re.MULTILINE):
        first, *others = (cell.strip() for cell in line.split("|"))
        links = [LINK.fullmatch(cell) for cell in others]
        assert all(links), line
        assert first not in found
        found[first] = [Cell(link[1], named[link[2]]) for link in links if link]
    return found


@pytest.mark.parametrize("page", [PAGE, README], ids=lambda page: page.name)
def test_cells_of_sqlext_lead_to_tests(page: Path) -> None:
    table = rows(page)
    assert len(table) >= 10
    for row, (cell, *_) in table.items():
        assert (ROOT / cell.target).is_file(), (row, cell)
        assert re.fullmatch(r"tests/[\w/]+/(test_\w+\.py|run\.py|\w+\.out)", cell.target), (row, cell)


def test_every_row_of_the_page_is_read() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    heads = [line for line in lines if line.startswith(("| | sqlext | Iceberg |", "|---|"))]
    assert len(rows(PAGE)) == len(lines) - len(heads) >= 20


def test_cells_of_peers_lead_to_pages_of_their_own() -> None:
    for row, (_, *cells) in rows(PAGE).items():
        for cell, hosts in zip(cells, PEERS, strict=True):
            assert cell.target.startswith(hosts), (row, cell)


@pytest.mark.parametrize("page", [PAGE, README], ids=lambda page: page.name)
def test_labels_are_defined_once_and_used(page: Path) -> None:
    labels = [label for label, _ in definitions(page)]
    assert len(labels) == len(set(labels))
    assert set(labels) == {label for _, label in LINK.findall(page.read_text())}


def test_the_rows_of_the_readme_are_those_of_the_page() -> None:
    whole = rows(PAGE)
    shown = rows(README)
    assert shown == {row: whole[row] for row in shown}
