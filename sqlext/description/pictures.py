"""Pictures of a table by matplotlib: static, so that they are seen wherever a notebook is, on a ground of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from sqlext.description.table_facts import CareTask, Commit, Contents, bytes_told, class_told, plural_told

IN, OUT, REWRITTEN, SIZE = "#3f8f5b", "#d1605e", "#b0b0b0", "#4c83c3"
_ROWS = ((IN, "in"), (OUT, "out"), (REWRITTEN, "moved by rewrites"))
_CHANGES = (("INSERT", IN, "inserted"), ("UPDATE_AFTER", SIZE, "updated"), ("DELETE", OUT, "deleted"))
_MOST_LABELS = 8
# A single bar is not to be as wide as the picture.
_FEWEST_BARS = 5
_INK = "#333333"
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
    figure = _figure(8.5, 4.6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    places = range(len(shown))
    came = [one.rows_in or 0 for one in shown]
    went = [-(one.rows_out or 0) for one in shown]
    is_rewrite = [one.operation == "replace" for one in shown]
    upper.bar(places, came, color=[REWRITTEN if grey else IN for grey in is_rewrite], width=0.7)
    upper.bar(places, went, color=[REWRITTEN if grey else OUT for grey in is_rewrite], width=0.7)
    upper.axhline(0, color=_INK, linewidth=0.8)
    upper.set_title(f"{_plain(name)}: rows in and out", loc="left")
    handles = [Patch(color=colour, label=told) for colour, told in _ROWS]
    upper.legend(handles=handles, frameon=False, ncols=3, fontsize="small", loc="lower right", bbox_to_anchor=(1, 1))
    stored = [(place, one.rows) for place, one in zip(places, shown, strict=True) if one.rows is not None]
    lower.step([place for place, _ in stored], [rows for _, rows in stored], where="mid", color=SIZE)
    lower.set_ylim(bottom=0)
    lower.set_title("rows stored", loc="left", fontsize="medium")
    step = max(1, -(-len(shown) // _MOST_LABELS))
    lower.set_xticks(places[::step], _labels([one.committed_at for one in shown[::step]]), fontsize="small")
    for axes in (upper, lower):
        _counts(axes)
    return _empty(figure, upper, "no snapshots yet") if not shown else figure


def files_picture(name: str, contents: Contents) -> Figure:
    """The data files by their sizes."""
    figure = _figure(7.5, 3.2)
    axes = figure.subplots()
    axes.set_title(
        f"{_plain(name)}: {plural_told(contents.data_files, 'data file')}, {bytes_told(contents.bytes)}", loc="left"
    )
    if not contents.sizes:
        return _empty(figure, axes, "no data files yet")
    bars = axes.bar(range(len(contents.sizes)), [one.files for one in contents.sizes], color=SIZE, width=0.8)
    axes.bar_label(bars, [f"{one.files:,}" if one.files else "" for one in contents.sizes], fontsize="small")
    axes.set_xticks(
        range(len(contents.sizes)),
        [class_told(one).replace(" to ", "\nto ") for one in contents.sizes],
        fontsize="small",
    )
    axes.set_xlim(-0.6, max(len(contents.sizes), _FEWEST_BARS) - 0.4)
    axes.margins(y=0.15)
    _counts(axes)
    return figure


def health_picture(name: str, contents: Contents, care: Sequence[CareTask]) -> Figure:
    """Live and dead rows, and the bytes that each task of care would read or free."""
    figure = _figure(8.5, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    rows = left.bar(["live", "dead"], [contents.live_rows, contents.dead_rows], color=[IN, OUT], width=0.6)
    left.bar_label(rows, [contents.live_rows_told, f"{contents.dead_rows:,}"], fontsize="small")
    left.margins(x=0.25, y=0.15)
    left.set_title(f"{_plain(name)}: rows", loc="left")
    _counts(left)
    tasks = [one for one in care if one.count is not None]
    bars = right.barh([one.name for one in tasks], [one.bytes or 0 for one in tasks], color=SIZE, height=0.6)
    told = [f"{one.count:,}" + ("" if one.bytes is None else f", {bytes_told(one.bytes)}") for one in tasks]
    right.bar_label(bars, told, padding=3, fontsize="small")
    right.invert_yaxis()
    right.set_title("what care would read or free", loc="left")
    right.xaxis.set_visible(False)
    right.spines[["top", "right", "bottom"]].set_visible(False)
    right.margins(x=0.4)
    return figure


def changes_picture(name: str, steps: Sequence[Mapping[str, int]], labels: Sequence[str]) -> Figure:
    """The rows that each step inserted, updated and deleted, by the names of `_change_type`."""
    figure = _figure(8.5, 3.2)
    axes = figure.subplots()
    axes.set_title(f"{_plain(name)}: changed rows", loc="left")
    if not steps:
        return _empty(figure, axes, "no changes")
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
    step = max(1, -(-len(steps) // _MOST_LABELS))
    places = range(0, len(steps), step)
    axes.set_xticks(places, [_plain(labels[place]) for place in places], fontsize="small")
    axes.set_xlim(-0.6, max(len(steps), _FEWEST_BARS) - 0.4)
    axes.legend(frameon=False, ncols=3, fontsize="small", loc="upper left")
    # Room for the legend.
    axes.set_ylim(1.1 * min(below), max(1.0, 1.3 * max(above)))
    _counts(axes)
    return figure


def _figure(width: float, height: float) -> Figure:
    engine = ConstrainedLayoutEngine(w_pad=_PAD, h_pad=_PAD)
    return _Picture(figsize=(width, height), layout=engine, facecolor="white")


def _counts(axes: Axes) -> None:
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{abs(int(count)):,}"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)


def _empty(figure: Figure, axes: Axes, told: str) -> Figure:
    axes.set_axis_off()
    axes.text(0.5, 0.5, told, transform=axes.transAxes, ha="center", va="center", color=_INK)
    return figure


def _labels(moments: Sequence[str]) -> Sequence[str]:
    """Days and times, with seconds where minutes do not tell them apart."""
    minutes = [moment[:16] for moment in moments]
    told = minutes if len(set(minutes)) == len(minutes) else [moment[:19] for moment in moments]
    return [moment.replace("T", "\n") for moment in told]


def _plain(text: str) -> str:
    """A name as matplotlib shows it: `$` begins no formula."""
    return text.replace("$", r"\$")
