"""A description as HTML for notebooks: one element, with its style, without scripts and without anything to load.

Names are data of whoever made the table, so that all text is escaped. Text has the colour of the page around it, and
bars have colours that are seen on light and dark ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from sqlext.description.table_facts import (
    Commit,
    Contents,
    Description,
    bytes_told,
    class_told,
    count_told,
    key_told,
    plural_told,
)

_STYLE = """
.sqlext{font-size:13px;line-height:1.45;max-width:72em;color:inherit;overflow-x:auto}
.sqlext h3{margin:0 0 .1em;font-size:1.25em;font-weight:600}
.sqlext h4{margin:1.1em 0 .3em;font-size:1em;font-weight:600}
.sqlext .about{opacity:.7;margin:0 0 .6em}
.sqlext .tiles{display:flex;flex-wrap:wrap;gap:.6em;margin:.6em 0}
.sqlext .tile{border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:.35em .8em;min-width:7em}
.sqlext .tile b{display:block;font-size:1.25em;font-weight:600}
.sqlext .tile span{opacity:.7}
.sqlext table{table-layout:auto;border-collapse:collapse;margin:0;color:inherit;background:transparent}
.sqlext th,.sqlext td{text-align:left;vertical-align:top;padding:.2em .9em .2em 0;border:0;background:transparent;
white-space:normal;overflow-wrap:break-word}
.sqlext td code{overflow-wrap:anywhere}
.sqlext td{min-width:3em}
.sqlext th{white-space:nowrap;opacity:.7;font-weight:500;border-bottom:1px solid rgba(128,128,128,.4)}
.sqlext tr{background:transparent}
.sqlext .number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.sqlext .when,.sqlext .id{white-space:nowrap;font-variant-numeric:tabular-nums}
.sqlext code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.95em;color:inherit;background:transparent;
padding:0}
.sqlext .mark{border:1px solid rgba(128,128,128,.5);border-radius:4px;padding:0 .35em;margin-right:.3em;font-size:.85em;
white-space:nowrap}
.sqlext .bars{width:9em;min-width:4em}
.sqlext .bar{height:.5em;border-radius:2px;margin:.22em 0}
.sqlext .in{background:#3f8f5b}
.sqlext .out{background:#d1605e}
.sqlext .size{background:#4c83c3;height:.85em}
.sqlext .faint{opacity:.7}
""".strip()
_LEAST_BAR = 1.5


def description_html(described: Description) -> str:
    """The description as one HTML element."""
    parts = [
        f"<style>{_STYLE}</style>",
        f"<h3>{escape(described.name)}</h3>",
        f'<p class="about">{escape(described.comment)}</p>' if described.comment else "",
        _tiles(described),
        _columns(described),
        _layout(described),
        _settings(described),
        timeline_html(described.commits, described.commit_count),
        sizes_html(described.contents),
        _care(described),
    ]
    return f'<div class="sqlext">{"".join(parts)}</div>'


def timeline_html(commits: Sequence[Commit], count: int) -> str:
    """Snapshots, newest first, with bars of the rows that came and went."""
    if not commits:
        return "<h4>Timeline</h4><p>no snapshots yet</p>"
    most = max((max(one.rows_in or 0, one.rows_out or 0) for one in commits), default=0)
    rows = []
    for one in commits:
        marks = "".join(_mark(name) for name in one.references)
        if not one.is_ancestor and not one.references:
            marks = _mark("not in main")
        keys = f" and {one.keys_out:,} keys" if one.keys_out else ""
        rows.append(
            f'<tr><td class="when">{_moment(one.committed_at)}</td><td>{escape(one.by)}</td>'
            f"<td>{escape(one.what)} {marks}</td>"
            f'<td class="number">{_signed("+", one.rows_in)}</td>'
            f'<td class="number">{_signed("−", one.rows_out)}{keys}</td>'
            f'<td class="bars">{_bar("in", one.rows_in, most)}{_bar("out", one.rows_out, most)}</td>'
            f'<td class="number">{count_told(one.rows)}</td><td class="id"><code>{one.snapshot_id}</code></td></tr>'
        )
    heads = _heads("when", "who", "what", "#rows in", "#rows out", "", "#rows stored", "snapshot")
    left = (
        f'<p class="faint">{count - len(commits):,} older snapshots are not shown</p>' if count > len(commits) else ""
    )
    return f"<h4>Timeline</h4><table>{heads}{''.join(rows)}</table>{left}"


def sizes_html(contents: Contents) -> str:
    """Data files by their sizes."""
    if not contents.sizes:
        return ""
    most = max(one.files for one in contents.sizes)
    rows = (
        f'<tr><td>{class_told(one)}</td><td class="number">{one.files:,}</td>'
        f'<td class="number">{bytes_told(one.bytes)}</td><td class="bars">{_bar("size", one.files, most)}</td></tr>'
        for one in contents.sizes
    )
    return f"<h4>Sizes of data files</h4><table>{_heads('size', '#files', '#bytes', '')}{''.join(rows)}</table>"


def _tiles(described: Description) -> str:
    contents = described.contents
    tiles = [
        ("rows", contents.live_rows_told),
        ("dead rows, still stored", contents.dead_rows_told),
        (f"in {plural_told(contents.data_files, 'data file')}", bytes_told(contents.bytes)),
        ("snapshots", f"{described.commit_count:,}"),
        ("format version", str(described.format_version)),
    ]
    if contents.deleted_keys:
        tiles.insert(2, ("keys deleted by equality", f"{contents.deleted_keys:,}"))
    inside = "".join(f'<div class="tile"><b>{escape(value)}</b><span>{name}</span></div>' for name, value in tiles)
    return f'<div class="tiles">{inside}</div>'


def _columns(described: Description) -> str:
    rows = []
    for one in described.columns:
        marks = (_mark("key") if one.in_key else "") + (_mark("NOT NULL") if one.required else "")
        default = "" if one.default is None else f"<code>{escape(one.default)}</code>"
        rows.append(
            f"<tr><td><b>{escape(one.name)}</b></td><td><code>{escape(one.type)}</code></td><td>{marks}</td>"
            f"<td>{default}</td><td>{escape(one.comment or '')}</td></tr>"
        )
    return f"<h4>Columns</h4><table>{_heads('name', 'type', '', 'default', 'comment')}{''.join(rows)}</table>"


def _layout(described: Description) -> str:
    rows = [
        ("key", escape(key_told(described))),
        ("partitioned by", _codes(described.partitioned_by) or "nothing"),
        ("ordered by", _codes(described.ordered_by)),
        *(("check", f"<b>{escape(one.name)}</b> <code>{escape(one.expression)}</code>") for one in described.checks),
        *(
            (one.kind, f"<b>{escape(one.name)}</b> at <code>{one.snapshot_id}</code>")
            for one in described.references
            if one.name != "main"
        ),
        ("location", f"<code>{escape(described.location)}</code>"),
    ]
    told = "".join(f'<tr><td class="faint">{escape(name)}</td><td>{value}</td></tr>' for name, value in rows if value)
    return f"<h4>Layout</h4><table>{told}</table>"


def _settings(described: Description) -> str:
    if not described.settings:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(one.name)}</code></td><td><code>{escape(one.value)}</code></td>"
        f"<td>{escape(one.words or '')}</td></tr>"
        for one in described.settings
    )
    return f"<h4>Properties</h4><table>{_heads('property', 'value', 'what it does')}{rows}</table>"


def _care(described: Description) -> str:
    due = [one for one in described.care if one.count != 0]
    if not due:
        return "<h4>What care would do</h4><p>nothing</p>"
    rows = "".join(
        f'<tr><td>{escape(one.name)}</td><td class="number">{one.counted}</td>'
        f'<td class="number">{bytes_told(one.bytes)}</td><td>{escape(one.words or "")}</td></tr>'
        for one in due
    )
    return f"<h4>What care would do</h4><table>{_heads('task', '#now', '#bytes', 'how')}{rows}</table>"


def _heads(*names: str) -> str:
    """A row of headings; those that begin with # are of numbers."""
    cells = (f'<th class="number">{name[1:]}</th>' if name.startswith("#") else f"<th>{name}</th>" for name in names)
    return f"<tr>{''.join(cells)}</tr>"


def _mark(text: str) -> str:
    return f'<span class="mark">{escape(text)}</span>'


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(f"<code>{escape(text)}</code>" for text in texts)


def _moment(text: str) -> str:
    return escape(text.replace("T", " ").partition(".")[0].removesuffix("Z"))


def _signed(sign: str, number: int | None) -> str:
    return "" if number is None else f"{sign}{number:,}" if number else "0"


def _bar(kind: str, amount: int | None, most: int) -> str:
    if not amount or not most:
        return ""
    return f'<div class="bar {kind}" style="width:{max(_LEAST_BAR, 100 * amount / most):.1f}%"></div>'
