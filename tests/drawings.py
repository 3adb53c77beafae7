"""Drawings of docs/, made from text: `docs/drawings/<name>.txt` gives `docs/drawings/<name>.svg`.

`PYTHONPATH=.:tests python3 tests/drawings.py` makes them anew. A text has lines

    title What is drawn
    lane key = who acts, with a column of its own
    key -> other: what is asked or given, from one lane to another
    key: what happens in a lane
    box key @ column,row = first line | further | lines
    key -> other: why the one leads to the other, between boxes

in the order of time for lanes. An SVG loads nothing, and has a ground of its own, so that pages may be dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

DRAWINGS = Path(__file__).resolve().parents[1] / "docs" / "drawings"
_CHARACTER, _LINE, _PAD = 7.4, 17, 9
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2430 } .bold { font-weight: 600 }
  .said { font-size: 12px; fill: #3b4252; stroke: #ffffff; stroke-width: 4; paint-order: stroke }
  .back { fill: #ffffff }
  .box { fill: #eef1fb; stroke: #5c6bc0 } .step { fill: #fff8e1; stroke: #c79100 }
  .life { stroke: #b0b7c3; stroke-dasharray: 3 4 } .way { stroke: #3f51b5; stroke-width: 1.4; fill: none }
  .head { fill: #3f51b5 }
"""


@dataclass(slots=True)
class Drawing:
    """What a text says: its lanes or boxes with their lines, the places of boxes, and steps (from, to, text)."""

    title: str = ""
    lanes: dict[str, list[str]] = field(default_factory=dict)
    boxes: dict[str, list[str]] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    steps: list[tuple[str, str, str]] = field(default_factory=list)


def read(text: str) -> Drawing:
    """Raises ValueError for a line that is none of a drawing, and for a step of what is not there."""
    drawing = Drawing()
    for line in filter(None, (line.strip() for line in text.splitlines())):
        if line.startswith("title "):
            drawing.title = line[6:]
        elif found := re.fullmatch(r"lane (\w+) = (.+)", line):
            drawing.lanes[found[1]] = _lines(found[2])
        elif found := re.fullmatch(r"box (\w+) @ (\d+),(\d+) = (.+)", line):
            drawing.boxes[found[1]], drawing.places[found[1]] = _lines(found[4]), (int(found[2]), int(found[3]))
        elif (found := re.fullmatch(r"(\w+)(?: -> (\w+))?(?:: (.+))?", line)) and {found[1], found[2] or found[1]} <= (
            drawing.lanes.keys() | drawing.boxes.keys()
        ):
            drawing.steps.append((found[1], found[2] or found[1], found[3] or ""))
        else:
            raise ValueError(f"no line of a drawing: {line}")
    return drawing


def _lines(text: str) -> list[str]:
    return [one.strip() for one in text.split("|")]


def _width(lines: list[str]) -> float:
    return max(len(line) for line in lines) * _CHARACTER + 2 * _PAD


def svg(text: str) -> str:
    """The drawing of a text."""
    drawing = read(text)
    width, height, parts = _lanes(drawing) if drawing.lanes else _boxes(drawing)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    marker = (
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path class="head" d="M0,0 L8,4 L0,8 z"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n<title>{escape(drawing.title)}</title>\n'
        f'<style>{_STYLE}</style>\n<defs>{marker}</defs>\n<rect class="back" width="100%" height="100%" rx="6"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _lanes(drawing: Drawing) -> tuple[float, float, list[str]]:
    keys = list(drawing.lanes)
    gaps = [_width(drawing.lanes[key]) / 2 for key in keys]
    between = [gaps[n] + gaps[n + 1] + 16 for n in range(len(keys) - 1)]
    for first, last, text in drawing.steps:
        a, b = sorted((keys.index(first), keys.index(last)))
        wanted = _width(_lines(text)) + 8
        if b - a == 1:
            between[a] = max(between[a], wanted)
        elif a == b:
            for n in {max(a - 1, 0), min(a, len(between) - 1)}:
                between[n] = max(between[n], wanted / 2 + 30)
    middles = [
        max([gaps[0], *(_width(_lines(text)) / 2 for one, other, text in drawing.steps if one == other == keys[0])])
    ]
    for gap in between:
        middles.append(middles[-1] + gap)
    own = [_width(_lines(text)) / 2 for one, other, text in drawing.steps if one == other == keys[-1]]
    middles = [middle + 12 for middle in middles]
    width = middles[-1] + max([gaps[-1], *own]) + 12
    at = dict(zip(keys, middles, strict=True))
    parts: list[str] = []
    top = 12.0 + max(len(lines) for lines in drawing.lanes.values()) * _LINE + 2 * _PAD
    y = top + 14
    for first, last, text in drawing.steps:
        lines = _lines(text)
        if first == last:
            parts += _box(at[first] - _width(lines) / 2, y, lines, "step", bold=False)
            y += len(lines) * _LINE + 2 * _PAD + 10
            continue
        y += len(lines) * (_LINE - 2) + 4
        middle = (at[first] + at[last]) / 2
        parts += [
            f'<text class="said" x="{middle:.0f}" y="{y - 6 - (len(lines) - 1 - n) * (_LINE - 2):.0f}"'
            f' text-anchor="middle">{escape(line)}</text>'
            for n, line in enumerate(lines)
        ]
        parts.append(f'<path class="way" marker-end="url(#head)" d="M{at[first]:.0f},{y:.0f} H{at[last]:.0f}"/>')
        y += 14
    lives = [f'<path class="life" d="M{x:.0f},{top:.0f} V{y:.0f}"/>' for x in middles]
    heads = [part for key in keys for part in _box(at[key] - _width(drawing.lanes[key]) / 2, 12, drawing.lanes[key])]
    return width, y + 12, [*lives, *heads, *parts]


def _boxes(drawing: Drawing) -> tuple[float, float, list[str]]:
    columns = max(column for column, _ in drawing.places.values()) + 1
    rows = max(row for _, row in drawing.places.values()) + 1
    wide = [
        max([_width(drawing.boxes[key]) for key, at in drawing.places.items() if at[0] == n] or [40])
        for n in range(columns)
    ]
    high = [
        max(len(drawing.boxes[key]) for key, at in drawing.places.items() if at[1] == n) * _LINE + 2 * _PAD
        for n in range(rows)
    ]
    middles = [12 + sum(wide[:n]) + 26 * n + wide[n] / 2 for n in range(columns)]
    tops = [12 + sum(high[:n]) + 44.0 * n for n in range(rows)]
    parts: list[str] = []
    edges: dict[str, tuple[float, float, float]] = {}
    for key, (column, row) in drawing.places.items():
        lines = drawing.boxes[key]
        parts += _box(middles[column] - wide[column] / 2, tops[row], lines, width=wide[column])
        edges[key] = middles[column], tops[row], tops[row] + len(lines) * _LINE + 2 * _PAD
    for first, last, text in drawing.steps:
        (x, top, bottom), (to_x, to_top, to_bottom) = edges[first], edges[last]
        if abs(top - to_top) < 1:  # side by side
            half, other = wide[drawing.places[first][0]] / 2, wide[drawing.places[last][0]] / 2
            begin, end = (x + half, to_x - other) if x < to_x else (x - half, to_x + other)
            y = (top + min(bottom, to_bottom)) / 2
            parts.append(f'<path class="way" marker-end="url(#head)" d="M{begin:.0f},{y:.0f} H{end:.0f}"/>')
            continue
        begin, end = (bottom, to_top) if top < to_top else (top, to_bottom)
        parts.append(f'<path class="way" marker-end="url(#head)" d="M{x:.0f},{begin:.0f} L{to_x:.0f},{end:.0f}"/>')
        if text:
            place = f'x="{(x + to_x) / 2 + 6:.0f}" y="{(begin + end) / 2 + 4:.0f}"'
            parts.append(f'<text class="said" {place}>{escape(text)}</text>')
    return middles[-1] + wide[-1] / 2 + 12, tops[-1] + high[-1] + 12, parts


def _box(
    x: float, y: float, lines: list[str], kind: str = "box", *, bold: bool = True, width: float = 0
) -> Iterator[str]:
    width = width or _width(lines)
    height = len(lines) * _LINE + 2 * _PAD
    yield f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="4"/>'
    for n, line in enumerate(lines):
        weight = ' class="bold"' if bold and n == 0 else ""
        place = f'x="{x + width / 2:.0f}" y="{y + _PAD + n * _LINE + 13:.0f}" text-anchor="middle"'
        yield f"<text{weight} {place}>{escape(line)}</text>"


def main() -> None:
    for path in sorted(DRAWINGS.glob("*.txt")):
        path.with_suffix(".svg").write_text(svg(path.read_text()))


if __name__ == "__main__":
    main()
