"""Pictures of a table. They are kept in `build/pictures`, where an eye judges them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter
from matplotlib.backend_bases import RendererBase
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text

from sqlext.description.pictures import changes_picture, diff_picture, files_picture, health_picture, history_picture
from sqlext.description.table_facts import CareTask, Contents
from unit.description.made_description import description
from unit.description.renders import path_of

T = description()


STEPS = [{"INSERT": 30, "UPDATE_AFTER": 12, "UPDATE_BEFORE": 12}, {"DELETE": 9, "INSERT": 1}, {"UPDATE_AFTER": 22}]
ID = "1127007959191285458"
LONG = "lake.shop." + "a_name_of_many_words_" * 8
SECONDS = [f"2026-01-31T10:{number // 60:02}:{number % 60:02}.250Z" for number in range(200)]
PICTURES = {
    "history": history_picture(T.name, T.commits),
    "history_of_one": history_picture(T.name, T.commits[-1:]),
    "history_of_many": history_picture(LONG, [replace(T.commits[-1], committed_at=one) for one in reversed(SECONDS)]),
    "history_of_deletes": history_picture(T.name, [replace(T.commits[3], committed_at=one) for one in SECONDS[:6]]),
    "history_of_none": history_picture(T.name, ()),
    "files": files_picture(T.name, T.contents),
    "files_of_one": files_picture(LONG, replace(T.contents, data_files=3, sizes=T.contents.sizes[:1])),
    "files_of_none": files_picture(T.name, Contents()),
    "health": health_picture(T.name, T.contents, T.care),
    "health_of_none": health_picture(LONG, Contents(), [CareTask("full compaction", 0, 0, "CALL compact")]),
    "health_of_much": health_picture(
        T.name,
        replace(T.contents, stored_rows=98_765_432_109, dead_rows=98_765_000_000),
        [CareTask("full compaction", 1_234_567, 10**15, None), CareTask("manifests more than needed", 98_765, 2, None)],
    ),
    "changes": changes_picture(T.name, STEPS, SECONDS[:3]),
    "changes_of_ids": changes_picture(T.name, STEPS * 5, [ID] * 15),
    "changes_of_many": changes_picture(LONG, [{"INSERT": number} for number in range(200)], SECONDS),
    "changes_of_deletes": changes_picture(T.name, [{"DELETE": 9}], SECONDS[:1]),
    "changes_of_none": changes_picture(T.name, (), ()),
    "diff": diff_picture(T.name, STEPS[0], ID, ID),
    "diff_of_none": diff_picture(LONG, {}, ID, "the newest snapshot"),
}


def heights(figure: Figure) -> list[list[float]]:
    """The signed heights of the bars of each kind."""
    bars: Iterable[BarContainer] = (one for axes in figure.axes for one in axes.containers)
    return [[bar.get_height() for bar in one.patches] for one in bars]


def written(figure: Figure) -> list[Text]:
    """All that is drawn of what is written in a picture."""
    drawn: list[Text] = []

    def draw(text: Text, renderer: RendererBase, *arguments: Any, **others: Any) -> None:
        if text.get_visible() and text.get_text() and text not in drawn:
            drawn.append(text)
        draw_text(text, renderer, *arguments, **others)

    draw_text = Text.draw
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", draw)
        figure.draw_without_rendering()
    return drawn


def texts(figure: Figure) -> str:
    return "\n".join(one.get_text() for one in written(figure))


@pytest.mark.parametrize("name", PICTURES)
def test_what_is_written_is_within_the_picture_and_over_nothing_else(name: str) -> None:
    figure = PICTURES[name]
    figure.savefig(path_of(name))
    places = [(one.get_text(), one.get_window_extent()) for one in written(figure)]
    assert len(places) > 1
    for text, place in places:
        assert figure.bbox.x0 <= place.x0 < place.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= place.y0 < place.y1 <= figure.bbox.y1, text
    apart = [(one, other) for (one, a), (other, b) in combinations(places, 2) if a.overlaps(b)]
    assert apart == []


@pytest.mark.parametrize("name", [name for name in PICTURES if not name.endswith("_of_none")])
def test_what_bars_count_is_told(name: str) -> None:
    """By the title, a label of the axis, or words behind each bar."""
    for axes in PICTURES[name].axes:
        told = f"{axes.get_title(loc='left')} {axes.get_ylabel()} {' '.join(one.get_text() for one in axes.texts)}"
        assert re.search(r"\b(rows|files|manifests|snapshots)\b", told), told


def test_history_is_of_main_oldest_first() -> None:
    figure = PICTURES["history"]
    came, went, keys = heights(figure)
    assert came == [120_000, 40_000, 0, 129_000, 15_000, 0]
    assert went == [0, 0, -31_000, -129_000, 0, 0]
    assert keys == [0, 0, 0, 0, -15_000, 0]
    assert figure.axes[0].get_title(loc="left") == "lake.shop.orders: rows in and out"
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "in",
        "out",
        "moved by rewrites",
        "keys deleted by equality",
    ]
    assert len(heights(PICTURES["history_of_deletes"])) == 2


@pytest.mark.parametrize(
    ("apart_s", "ticks"),
    [(0.25, ["10:00:00.000", "10:00:00.250"]), (3, ["10:00:00", "10:00:03"]), (60, ["10:00", "10:01"])],
)
def test_times_are_told_apart(apart_s: float, ticks: list[str]) -> None:
    begun = datetime.datetime(2026, 1, 31, 10)
    times = [begun, begun + datetime.timedelta(seconds=apart_s)]
    commits = [
        replace(T.commits[0], committed_at=f"{one.isoformat(timespec='milliseconds')}Z", is_ancestor=True)
        for one in times
    ]
    figure = history_picture(T.name, commits[::-1])
    assert [tick.get_text().partition("\n")[2] for tick in figure.axes[1].get_xticklabels()] == ticks


def test_a_notebook_shows_a_picture_by_itself() -> None:
    """As a cell's result, in a kernel where nothing was said of matplotlib."""
    shown, _ = DisplayFormatter().format(files_picture(T.name, T.contents))
    assert shown["image/png"].startswith(b"\x89PNG")


def test_files_are_counted_by_class() -> None:
    figure = PICTURES["files"]
    assert heights(figure) == [[3, 0, 12, 40, 7]]
    assert "62 data files, 3.1 MiB" in texts(figure)


def test_health_has_live_and_dead_rows_and_the_tasks_of_care() -> None:
    figure = PICTURES["health"]
    assert heights(figure)[0] == [113_000, 31_000]
    assert {"at most 31,000", "62 files, 3.1 MiB", "18 snapshots, 879 KiB"} <= set(texts(figure).splitlines())
    assert "nothing" in texts(PICTURES["health_of_none"]).splitlines()
    stays = CareTask("snapshots that stay for a consumer alone", 3, None, "consumer etl")
    assert "consumer" not in texts(health_picture(T.name, T.contents, [*T.care, stays]))


def test_changes_are_stacked_by_kind() -> None:
    inserted, updated, deleted = heights(PICTURES["changes"])
    assert (inserted, updated, deleted) == ([30, 1, 0], [12, 0, 22], [0, -9, 0])
    assert "UTC" in PICTURES["changes"].axes[0].get_xlabel()
    assert "UTC" not in PICTURES["changes_of_ids"].axes[0].get_xlabel()


def test_a_difference_tells_between_what() -> None:
    assert f"from {ID} to {ID}" in texts(PICTURES["diff"]).splitlines()
    assert f"none from {ID} to the newest snapshot" in texts(PICTURES["diff_of_none"]).splitlines()


def test_many_steps_have_few_labels() -> None:
    assert len(PICTURES["changes_of_many"].axes[0].get_xticks()) <= 8


@pytest.mark.parametrize("name", ["lake.db.a$b$c", "lake.db.\\alpha"])
def test_a_name_is_no_formula(name: str) -> None:
    for figure in (history_picture(name, ()), files_picture(name, Contents()), changes_picture(name, (), ())):
        assert figure.axes[0].get_title(loc="left").replace("\\$", "$").startswith(name)
