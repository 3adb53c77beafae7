"""Drawings of docs/ are what their texts say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from drawings import DRAWINGS, read, svg

TEXTS = sorted(DRAWINGS.glob("*.txt"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_drawing_is_current(path: Path) -> None:
    drawn = svg(path.read_text())
    assert path.with_suffix(".svg").read_text() == drawn, "PYTHONPATH=.:tests python3 tests/drawings.py makes it"
    ElementTree.fromstring(drawn)
    assert re.findall(r'(?:href|src)="|url\((?!#)', drawn) == []


def test_every_drawing_has_its_text_and_stands_in_a_page() -> None:
    assert {path.stem for path in DRAWINGS.glob("*.svg")} == {path.stem for path in TEXTS}
    pages = "".join(page.read_text() for page in DRAWINGS.parent.glob("*.md"))
    assert [path.stem for path in TEXTS if f"](drawings/{path.stem}.svg)" not in pages] == []


@pytest.mark.parametrize("line", ["lane a", "a -> c: said", "box a = A", "nothing"])
def test_what_is_no_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(line)):
        read(f"title T\nlane a = A\nlane b = B\n{line}")


def test_lanes_boxes_and_texts_are_drawn() -> None:
    drawn = svg("title T & U\nlane a = A | one\nlane b = B\na -> b: 1 < 2\nb: step")
    assert all(part in drawn for part in ("<title>T &amp; U</title>", ">A</text>", ">one<", ">1 &lt; 2<", ">step<"))
    boxes = svg("title T\nbox a @ 0,0 = A\nbox b @ 1,0 = B\nbox c @ 1,1 = C\na -> b\nb -> c: why")
    assert boxes.count('class="way"') == 2
    assert ">why<" in boxes
