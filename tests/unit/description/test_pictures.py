"""Pictures of a table. They are kept in `build/pictures`, where an eye judges them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import replace

import pytest
from IPython.core.formatters import DisplayFormatter
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from sqlext.description.pictures import changes_picture, files_picture, health_picture, history_picture
from sqlext.description.table_facts import Contents
from unit.description.made_description import description
from unit.description.renders import path_of

T = description()


def heights(figure: Figure) -> list[list[float]]:
    """The signed heights of the bars of each kind."""
    bars: Iterable[BarContainer] = (one for axes in figure.axes for one in axes.containers)
    return [[bar.get_height() for bar in one.patches] for one in bars]


def texts(figure: Figure) -> str:
    """All that is written in a picture."""
    figure.canvas.draw()
    written = [text.get_text() for axes in figure.axes for text in axes.texts]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    ticks = [tick.get_text() for axes in figure.axes for tick in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    return "\n".join([*titles, *written, *ticks])


def test_history_is_of_main_oldest_first() -> None:
    figure = history_picture(T.name, T.commits)
    figure.savefig(path_of("history"))
    came, went = heights(figure)
    assert came == [120_000, 40_000, 0, 129_000, 15_000, 0]
    assert went == [0, 0, -31_000, -129_000, 0, 0]
    assert texts(figure).startswith("lake.shop.orders: rows in and out")
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["in", "out", "moved by rewrites"]


@pytest.mark.parametrize(("apart_s", "ticks"), [(3, ["10:00:00", "10:00:03"]), (60, ["10:00", "10:01"])])
def test_times_are_told_apart(apart_s: int, ticks: list[str]) -> None:
    begun = datetime.datetime(2026, 1, 31, 10)
    times = [begun, begun + datetime.timedelta(seconds=apart_s)]
    commits = [replace(T.commits[0], committed_at=f"{one.isoformat()}Z", is_ancestor=True) for one in times]
    figure = history_picture(T.name, commits[::-1])
    assert [tick.get_text().partition("\n")[2] for tick in figure.axes[1].get_xticklabels()] == ticks


def test_a_notebook_shows_a_picture_by_itself() -> None:
    """As a cell's result, in a kernel where nothing was said of matplotlib."""
    shown, _ = DisplayFormatter().format(files_picture(T.name, T.contents))
    assert shown["image/png"].startswith(b"\x89PNG")


def test_files_are_counted_by_class() -> None:
    figure = files_picture(T.name, T.contents)
    figure.savefig(path_of("files"))
    assert heights(figure) == [[3, 0, 12, 40, 7]]
    assert "62 data files, 3.1 MiB" in texts(figure)


def test_health_has_live_and_dead_rows_and_the_tasks_of_care() -> None:
    figure = health_picture(T.name, T.contents, T.care)
    figure.savefig(path_of("health"))
    assert heights(figure)[0] == [113_000, 31_000]
    assert "62, 3.1 MiB" in texts(figure)


def test_changes_are_stacked_by_kind() -> None:
    steps = [{"INSERT": 30, "UPDATE_AFTER": 12, "UPDATE_BEFORE": 12}, {"DELETE": 9, "INSERT": 1}, {"UPDATE_AFTER": 22}]
    figure = changes_picture(T.name, steps, ["11", "12", "13"])
    figure.savefig(path_of("changes"))
    inserted, updated, deleted = heights(figure)
    assert (inserted, updated, deleted) == ([30, 1, 0], [12, 0, 22], [0, -9, 0])


def test_many_steps_have_few_labels() -> None:
    steps = [{"INSERT": number} for number in range(200)]
    figure = changes_picture(T.name, steps, [str(number) for number in range(200)])
    figure.savefig(path_of("many_changes"))
    assert len(figure.axes[0].get_xticks()) <= 8


@pytest.mark.parametrize("name", ["lake.db.a$b$c", "lake.db.\\alpha"])
def test_a_name_is_no_formula(name: str) -> None:
    for figure in (history_picture(name, ()), files_picture(name, Contents()), changes_picture(name, (), ())):
        figure.savefig(path_of("empty"))
        assert texts(figure).splitlines()[0].replace("\\$", "$").startswith(name)
