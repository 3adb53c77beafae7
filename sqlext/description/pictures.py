"""Pictures of a table by matplotlib: static, so that they are seen wherever a notebook is, on a ground of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from sqlext.description.table_facts import CareTask, Commit, Contents, bytes_told, class_told, plural_told

IN, OUT, REWRITTEN, SIZE, KEYS = "#3f8f5b", "#d1605e", "#b0b0b0", "#4c83c3", "#e3b4b3"
_ROWS = ((IN, "in"), (OUT, "out"), (REWRITTEN, "moved by rewrites"))
_DELETED_KEYS = (KEYS, "keys deleted by equality")
_CHANGES = (("INSERT", IN, "inserted"), ("UPDATE_AFTER", SIZE, "updated"), ("DELETE", OUT, "deleted"))
_MOST_LABELS = 8
# A single bar is not to be as wide as the picture.
_FEWEST_BARS = 5
# A line of one point is not seen, and dots on a line of many hide it.
_MOST_DOTS = 40
# A title of more letters is wider than a picture.
_MOST_LETTERS = 70
_COMMITTED = "snapshots, by the time of their commit in UTC"
_INK = "#333333"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
# Inches around and between the parts of a picture.
_PAD = 0.1


class _Picture(Figure):
    """A figure that a notebook shows without `%matplotlib inline`, which the figures of pyplot need."""

    def _repr_png_(self) -> bytes:
        png = BytesIO()
        self.savefig(png, format="png")
        return png.getvalue()


def history_picture(name: str, commits: Sequence[Commit]) -> Figure:
    """The rows that came and went with each snapshot of main, oldest first, above the rows stored after it. Rewrites of
    files are grey."""
    shown = [one for one in reversed(commits) if one.is_ancestor]
    title = _title(name, "rows in and out")
    if not shown:
        return _empty(title, "no snapshots yet")
    figure = _figure(8.5, 4.8)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    places = range(len(shown))
    came = [one.rows_in or 0 for one in shown]
    went = [-(one.rows_out or 0) for one in shown]
    keys = [-one.keys_out for one in shown]
    is_rewrite = [one.operation == "replace" for one in shown]
    upper.bar(places, came, color=[REWRITTEN if grey else IN for grey in is_rewrite], width=0.7)
    upper.bar(places, went, color=[REWRITTEN if grey else OUT for grey in is_rewrite], width=0.7)
    if any(keys):
        upper.bar(places, keys, bottom=went, color=KEYS, width=0.7)
    upper.axhline(0, color=_INK, linewidth=0.8)
    upper.set_title(title, loc="left")
    told = (*_ROWS, _DELETED_KEYS) if any(keys) else _ROWS
    handles = [Patch(color=colour, label=word) for colour, word in told]
    upper.legend(handles=handles, frameon=False, ncols=4, fontsize="small", loc="upper left")
    _reach(upper, min(map(sum, zip(went, keys, strict=True))), max(came), for_legend=True)
    stored = [(place, one.rows) for place, one in zip(places, shown, strict=True) if one.rows is not None]
    dots = "o" if len(stored) <= _MOST_DOTS else ""
    lower.step(
        [place for place, _ in stored], [rows for _, rows in stored], where="mid", color=SIZE, marker=dots, markersize=4
    )
    _reach(lower, 0, max((rows for _, rows in stored), default=0))
    stored_title = "rows stored after each, with those that are deleted and not compacted yet"
    lower.set_title(stored_title, loc="left", fontsize="medium")
    step = max(1, -(-len(shown) // _MOST_LABELS))
    lower.set_xticks(places[::step], _labels([one.committed_at for one in shown[::step]]), fontsize="small")
    lower.set_xlabel(_COMMITTED, fontsize="small")
    for axes in (upper, lower):
        _counts(axes)
        _across(axes, len(shown))
    return figure


def files_picture(name: str, contents: Contents) -> Figure:
    """The data files by their sizes."""
    title = _title(name, f"{plural_told(contents.data_files, 'data file')}, {bytes_told(contents.bytes)}")
    if not contents.sizes:
        return _empty(title, "no data files yet")
    figure, axes = _titled(title)
    bars = axes.bar(range(len(contents.sizes)), [one.files for one in contents.sizes], color=SIZE, width=0.8)
    axes.bar_label(bars, [f"{one.files:,}" if one.files else "" for one in contents.sizes], fontsize="small")
    axes.set_xticks(
        range(len(contents.sizes)),
        [class_told(one).replace(" to ", "\nto ") for one in contents.sizes],
        fontsize="small",
    )
    axes.set_xlabel("size of a file", fontsize="small")
    axes.set_ylabel("files", fontsize="small")
    _reach(axes, 0, max(one.files for one in contents.sizes))
    _across(axes, len(contents.sizes))
    _counts(axes)
    return figure


def health_picture(name: str, contents: Contents, care: Sequence[CareTask]) -> Figure:
    """Live and dead rows, and the bytes that each task of care would read or free."""
    figure = _figure(8.5, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    figure.suptitle(_title(name), x=0.01, ha="left")
    rows = left.bar(
        ["live", "deleted,\nstill stored"], [contents.live_rows, contents.dead_rows], color=[IN, OUT], width=0.6
    )
    left.bar_label(rows, [contents.live_rows_told, contents.dead_rows_told], fontsize="small")
    left.margins(x=0.25)
    _reach(left, 0, max(contents.live_rows, contents.dead_rows))
    left.set_title("rows", loc="left", fontsize="medium")
    _counts(left)
    # What stays for a consumer is nothing that care would do.
    tasks = [one for one in care if one.bytes is not None]
    bars = right.barh(range(len(tasks)), [one.bytes or 0 for one in tasks], color=SIZE, height=0.6)
    right.set_yticks(range(len(tasks)), [_plain(one.name) for one in tasks])
    told = [f"{one.counted}, {bytes_told(one.bytes)}" if one.count or one.bytes else "nothing" for one in tasks]
    right.bar_label(bars, told, padding=3, fontsize="small")
    right.invert_yaxis()
    right.set_title("what care would read or free", loc="left", fontsize="medium")
    right.xaxis.set_visible(False)
    right.spines[["top", "right", "bottom"]].set_visible(False)
    # Room for the words behind the longest bar.
    right.set_xlim(0, 1.6 * max([1, *(one.bytes or 0 for one in tasks)]))
    return figure


def changes_picture(name: str, steps: Sequence[Mapping[str, int]], labels: Sequence[str]) -> Figure:
    """The rows that each step inserted, updated and deleted, by the names of `_change_type`. The labels are times as in
    a Commit, or ids."""
    title = _title(name, "changed rows")
    if not steps:
        return _empty(title, "no changes")
    figure, axes = _changes(title, steps)
    step = max(1, -(-len(steps) // _MOST_LABELS))
    axes.set_xticks(range(0, len(steps), step), _labels(labels[::step]), fontsize="small")
    axes.set_xlabel(_COMMITTED if _are_times(labels) else "snapshots", fontsize="small")
    return figure


def diff_picture(name: str, counts: Mapping[str, int], a: str, b: str) -> Figure:
    """The rows that are inserted, updated and deleted from the one to the other of two snapshots."""
    title, places = _title(name, "rows that differ"), f"from {_plain(a)} to {_plain(b)}"
    if not counts:
        return _empty(title, f"none {places}")
    figure, axes = _changes(title, [counts])
    axes.set_xticks([0], [places], fontsize="small")
    return figure


def _changes(title: str, steps: Sequence[Mapping[str, int]]) -> tuple[Figure, Axes]:
    figure, axes = _titled(title)
    above, below = [0] * len(steps), [0] * len(steps)
    for kind, colour, told in _CHANGES:
        counts = [one.get(kind, 0) for one in steps]
        signed = [-count for count in counts] if kind == "DELETE" else counts
        axes.bar(
            range(len(steps)), signed, bottom=0 if kind == "DELETE" else above, color=colour, width=0.7, label=told
        )
        if kind == "DELETE":
            below = signed
        else:
            above = [one + more for one, more in zip(above, counts, strict=True)]
    axes.axhline(0, color=_INK, linewidth=0.8)
    axes.legend(frameon=False, ncols=3, fontsize="small", loc="upper left")
    axes.set_ylabel("rows", fontsize="small")
    _across(axes, len(steps))
    _reach(axes, min(below), max(above), for_legend=True)
    _counts(axes)
    return figure, axes


def _titled(title: str) -> tuple[Figure, Axes]:
    figure = _figure(8.5, 3.4)
    axes = figure.subplots()
    axes.set_title(title, loc="left")
    return figure, axes


def _figure(width: float, height: float) -> Figure:
    engine = ConstrainedLayoutEngine(w_pad=_PAD, h_pad=_PAD)
    return _Picture(figsize=(width, height), layout=engine, facecolor="white")


def _counts(axes: Axes) -> None:
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{abs(int(count)):,}"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)


def _reach(axes: Axes, least: float, most: float, *, for_legend: bool = False) -> None:
    """Has room for what is above the highest bar."""
    axes.set_ylim(1.1 * least, max((1.35 if for_legend else 1.15) * most, -0.35 * least if for_legend else 0, 1))


def _across(axes: Axes, bars: int) -> None:
    """Has the bars in the middle, where they are few."""
    spare = max(0, _FEWEST_BARS - bars) / 2
    axes.set_xlim(-0.6 - spare, bars - 0.4 + spare)


def _empty(title: str, told: str) -> Figure:
    figure, axes = _titled(title)
    axes.set_axis_off()
    axes.text(0.5, 0.5, told, transform=axes.transAxes, ha="center", va="center", color=_INK)
    return figure


def _are_times(texts: Sequence[str]) -> bool:
    return all(_TIME.match(one) for one in texts)


def _labels(texts: Sequence[str]) -> Sequence[str]:
    """Times as a day and a time, to the millisecond where seconds do not tell them apart; ids in two halves."""
    if not _are_times(texts):
        return [_plain("\n".join((one[: len(one) // 2], one[len(one) // 2 :]))) for one in texts]
    precise = next((end for end in (16, 19) if len({one[:end] for one in texts}) == len(texts)), 23)
    return [one[:precise].removesuffix("Z").replace("T", "\n") for one in texts]


def _title(name: str, what: str = "") -> str:
    """The name and what is shown of it, on two lines if they are long."""
    short = name if len(name) <= _MOST_LETTERS else f"{name[: _MOST_LETTERS // 2]}…{name[-_MOST_LETTERS // 2 :]}"
    apart = " " if len(short) + len(what) <= _MOST_LETTERS else "\n"
    return _plain(f"{short}:{apart}{what}" if what else short)


def _plain(text: str) -> str:
    """A name as matplotlib shows it: `$` begins no formula."""
    return text.replace("$", r"\$")
