"""docs/compatibility.md, from the outcomes of the runs of the matrix and from nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from matrix.ability import WAYS, Ability, abilities
from matrix.core_runs import DOCUMENTED, CoreRun
from matrix.outcomes import REFUSED, YES, Kept, Outcome
from sqlext.spark.shim.supported_spark import MINORS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "compatibility.md"
SQL = ROOT / "docs" / "sql.md"
ABSENT = "–"
_DAY = "run on"
NOT_FROM_PYTHON = "An ability of Python's API, which this way to run has none of."
_INTRODUCTION = (
    "# What was run where",
    "",
    "`python3 tests/matrix/run.py --only abilities,core` runs the abilities of sqlext, each the file that its row",
    "leads to, and writes this page from the outcomes. A wrong answer, or an error that the file does not name, fails",
    "the command. `yes` is the outcome on every Spark; otherwise the cell has the Sparks that are able, and a note.",
    "Each row has the day of its run, since when sqlext may have changed.",
    "",
)
_WAYS = (
    "- `driver`: a driver in Python, `local[2]`.",
    "- `spark-sql`: the console; the JVM starts the Python side, here and in the next two.",
    "- `Thrift`: HiveThriftServer2, through beeline.",
    "- `Connect`: a client in a process without a JVM.",
    "- `cluster`: a driver in Python with two executors in other processes, `local-cluster[2,1,1024]`, whose Python",
    "  lacks sqlext.",
)
_OF_CORE = (
    "## Pythons, Javas, oldest packages",
    "",
    "The [core script](../tests/matrix/core.py) takes every way in which a statement can be carried out. Each row is a",
    "run of it in an environment of the wheel alone; *oldest* are the lowest versions that pyproject.toml names, with",
    "the first release of a Spark.",
    "",
)
CORE_HEADER = ["Spark", "Python", "Java", "packages", "outcome", _DAY]
_HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)


def sections() -> list[str]:
    """The headings of docs/sql.md, in its order."""
    return _HEADING.findall(SQL.read_text())


def rows() -> list[Ability]:
    """The abilities in the order of docs/sql.md."""
    order = {section: number for number, section in enumerate(sections())}
    return sorted(abilities(), key=lambda one: (order[one.section], one.is_python, one.name))


def header() -> list[str]:
    """The columns of the table of abilities."""
    return ["ability", *WAYS, _DAY]


def link(ability: Ability) -> str:
    """The first cell of an ability's row: its title, which leads to its file."""
    return f"[{ability.title}](../{ability.path().relative_to(ROOT).as_posix()})"


def document(kept: Kept) -> str:
    """The text of the document. Everything must have run: see `Kept.missing`."""
    notes: list[str] = []
    table = [_line(header()), _line(["---"] * len(header()))]
    before = None
    for ability in rows():
        if ability.section != before:
            table.append(_line([f"**[{ability.section}](sql.md#{_anchor(ability.section)})**", *[""] * len(WAYS), ""]))
            before = ability.section
        cells = [_cell(kept, ability, way, notes) for way in WAYS]
        table.append(_line([link(ability), *cells, _day(_outcomes(kept, ability))]))
    told = [outcome for ability in abilities() for outcome in _outcomes(kept, ability)]
    lines = [
        *_INTRODUCTION,
        f"- Spark {_and(one.versions.spark for one in told)}; Python {_and(one.versions.python for one in told)};"
        f" Java {_and(one.versions.java for one in told)}.",
        *_WAYS,
        "",
        *table,
        "",
        *(f"<sup>{number}</sup> {note}<br>" for number, note in enumerate(notes, 1)),
        "",
        *_OF_CORE,
        _line(CORE_HEADER),
        _line(["---"] * len(CORE_HEADER)),
        *(_core_row(run, kept) for run in DOCUMENTED),
    ]
    return "\n".join(lines) + "\n"


def _cell(kept: Kept, ability: Ability, way: str, notes: list[str]) -> str:
    if way not in ability.ways():
        return ABSENT + _note(notes, NOT_FROM_PYTHON)
    outcomes = {minor: _known(kept.ability(minor, way, ability)) for minor in MINORS}
    able = [minor for minor, one in outcomes.items() if one.kind == YES]
    if len(able) == len(MINORS):
        return YES
    marks = ""
    for told in dict.fromkeys(one.told for one in outcomes.values() if one.kind == REFUSED):
        refused = [minor for minor, one in outcomes.items() if one.kind == REFUSED and one.told == told]
        why = [said.why for minor in refused if (said := ability.refusal(minor, way))]
        marks += _note(notes, f"Spark {_and(refused)}: refused, `{told}`: {why[0]}.")
    return (", ".join(able) or REFUSED) + marks


def _note(notes: list[str], text: str) -> str:
    if text not in notes:
        notes.append(text)
    return f" <sup>{notes.index(text) + 1}</sup>"


def _core_row(run: CoreRun, kept: Kept) -> str:
    outcome = _known(kept.core(run))
    versions = outcome.versions
    packages = "oldest" if run.oldest else "newest"
    return _line([versions.spark, versions.python, versions.java, packages, outcome.told, versions.date])


def _known(outcome: Outcome | None) -> Outcome:
    assert outcome is not None
    return outcome


def _outcomes(kept: Kept, ability: Ability) -> Iterator[Outcome]:
    for minor in MINORS:
        yield from (_known(kept.ability(minor, way, ability)) for way in ability.ways())


def _day(outcomes: Iterable[Outcome]) -> str:
    """That of the first of several runs."""
    return min(one.versions.date for one in outcomes)


def _and(parts: Iterable[str]) -> str:
    *others, last = dict.fromkeys(sorted(parts, key=lambda part: [int(number) for number in part.split(".")]))
    return f"{', '.join(others)} and {last}" if others else last


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _anchor(heading: str) -> str:
    """As GitHub makes it: lower case, dashes for blanks, and no other signs."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
