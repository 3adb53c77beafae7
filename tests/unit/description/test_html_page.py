"""A description as HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from sqlext.description.html_page import description_html
from sqlext.description.table_facts import Contents, Description
from unit.description.made_description import description
from unit.description.renders import keep_page

_VOID = {"br", "hr", "img", "meta", "link", "input"}


class Elements(HTMLParser):
    """All elements of a page, with the text outside of styles; raises for one that is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.text.append(data)


def test_all_facts_are_told() -> None:
    page = description_html(description())
    keep_page("description", page)
    told = " ".join(Elements(page).text)
    for said in (
        "lake.shop.orders",
        "every order, once",
        "about 113,000",
        "at most 31,000",
        "15,000",
        "order_id > 0",
        "days(`day`)",
        "it looks after itself",
        "flink 2.1 (0f3a)",
        "18 older snapshots are not shown",
        "16 KiB to 64 KiB",
        "compaction that is due",
    ):
        assert said in told, said
    assert "manifests more than needed" not in told


def test_text_is_data_wherever_it_stands() -> None:
    """Elements are the same whatever a user writes, and what was written is in the text."""
    harmless = Elements(description_html(description()))
    attack = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;"
    page = description_html(description(name=attack, text=attack))
    elements = Elements(page)
    assert [tag for tag, _ in elements.found] == [tag for tag, _ in harmless.found]
    assert "".join(elements.text).count(attack) >= 8


def test_nothing_is_loaded_or_run() -> None:
    page = description_html(description())
    assert {tag for tag, _ in Elements(page).found} <= {
        *("div", "style", "h3", "h4", "p", "table", "tr", "th", "td", "b", "span", "code")
    }
    assert not re.search(r"url\(|@import|https?:|javascript:|on\w+=", page)


def test_an_empty_table_is_told_as_such() -> None:
    empty = Description("t", "file:///t", "file:///t/v1", "u", 2, None, "2026-01-01T00:00:00.000Z", contents=Contents())
    page = description_html(empty)
    keep_page("empty", page)
    told = " ".join(Elements(page).text)
    assert "no snapshots yet" in told
    assert "none" in told
