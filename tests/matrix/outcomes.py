"""Outcomes of the runs of the matrix, kept in `outcomes.csv` for docs/compatibility.md.

One is that of an ability, or of the core script, as its file was: a change of the file makes the outcome void. A change
of sqlext does not, but the document tells the day of each row, and `run.py --missing` runs what is of earlier sources.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from matrix.ability import WAYS, Ability, abilities
from matrix.attempts import Attempt
from matrix.core_runs import CoreRun
from sqlext.spark.shim.supported_spark import MINORS

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).parent / "outcomes.csv"
PROJECT = ROOT / "pyproject.toml"
CORE = Path(__file__).parent / "core.py"

YES, REFUSED, FAILED = "yes", "refused", "FAILED"
_COLUMNS = ("run", "kind", "told", "spark", "python", "java", "date", "source", "tried")
_HASH_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Versions:
    """What a run ran with, and when: whole versions, and the date in ISO form."""

    spark: str
    python: str
    java: str
    date: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """YES, REFUSED with the error condition that the ability names, or FAILED with what was found in its place."""

    kind: str
    told: str
    versions: Versions


def is_missing(outcome: Outcome | None) -> bool:
    """Whether it must be run, or run again, before the document can be written."""
    return outcome is None or outcome.kind == FAILED


def made_of() -> list[Path]:
    """The sources of which the wheel is made."""
    return [
        *sorted((ROOT / "sqlext").rglob("*.py")),
        *sorted((ROOT / "jvm-shim").rglob("*.scala")),
    ]


def judged(ability: Ability, minor: str, way: str, attempt: Attempt, versions: Versions) -> Outcome:
    """An attempt beside what the ability says of this Spark and way."""
    condition = attempt.condition()
    refusal = ability.refusal(minor, way)
    wanted = f"refused by {refusal.condition}" if refusal else ability.expected
    if refusal:
        kind = REFUSED if condition == refusal.condition else FAILED
    elif ability.is_error:
        as_wanted = attempt.failed_at == len(ability.statements) - 1 and condition == ability.expected
        kind = YES if as_wanted else FAILED
    else:
        kind = YES if attempt.error is None and attempt.cell == ability.expected else FAILED
    if kind == FAILED:
        return Outcome(kind, f"{_found(ability, attempt)}\n  and not: {wanted}", versions)
    return Outcome(kind, condition or "", versions)


def _found(ability: Ability, attempt: Attempt) -> str:
    if attempt.failed_at is None:
        return f"it answered: {attempt.cell}"
    statement = ability.statements[attempt.failed_at] if ability.statements else ability.path().name
    return f"{statement}\n  failed: {attempt.error}"


class Kept:
    """The outcomes of all runs, each the last one of its kind."""

    def __init__(self, record: Path = RECORD) -> None:
        self._record = record
        self._source = _hash(made_of())
        with record.open(newline="") as file:
            self._rows = {row["run"]: row for row in csv.DictReader(file)}

    def put_ability(self, minor: str, way: str, ability: Ability, outcome: Outcome) -> None:
        self._put(_cell(minor, way, ability), [ability.path()], outcome)

    def ability(self, minor: str, way: str, ability: Ability) -> Outcome | None:
        """The last outcome, or None."""
        return self._get(_cell(minor, way, ability), [ability.path()])

    def put_core(self, run: CoreRun, outcome: Outcome) -> None:
        self._put(f"core-{run.name()}", _of_core(run), outcome)

    def core(self, run: CoreRun) -> Outcome | None:
        """The last outcome, or None."""
        return self._get(f"core-{run.name()}", _of_core(run))

    def is_newest(self, run: tuple[str, str, Ability] | CoreRun) -> bool:
        """Whether the last outcome, in a Spark and way or of the core, passed with the sources as they are."""
        name = f"core-{run.name()}" if isinstance(run, CoreRun) else _cell(*run)
        row = self._rows.get(name)
        return row is not None and row["source"] == self._source and row["kind"] != FAILED

    def missing(self, runs: Sequence[CoreRun]) -> list[str]:
        """What has no outcome, or a failed one, in words."""
        of_abilities = {
            f"{way} on {minor}": [self.ability(minor, way, one) for one in abilities() if way in one.ways()]
            for minor in MINORS
            for way in WAYS
        }
        found = {**of_abilities, **{f"core: {run.name()}": [self.core(run)] for run in runs}}
        return [name for name, outcomes in found.items() if any(map(is_missing, outcomes))]

    def _put(self, name: str, tried: Sequence[Path], outcome: Outcome) -> None:
        versions = outcome.versions
        values = (name, outcome.kind, outcome.told, versions.spark, versions.python, versions.java, versions.date)
        self._rows[name] = dict(zip(_COLUMNS, (*values, self._source, _hash(tried)), strict=True))
        with self._record.open("w", newline="") as file:
            writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._rows[one] for one in sorted(self._rows))

    def _get(self, name: str, tried: Sequence[Path]) -> Outcome | None:
        row = self._rows.get(name)
        if row is None or row["tried"] != _hash(tried):
            return None
        return Outcome(row["kind"], row["told"], Versions(row["spark"], row["python"], row["java"], row["date"]))


def _of_core(run: CoreRun) -> list[Path]:
    """What a run of the core depends on beside the sources."""
    return [CORE, PROJECT] if run.oldest else [CORE]


def _hash(files: Sequence[Path]) -> str:
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:_HASH_DIGITS]


def _cell(minor: str, way: str, ability: Ability) -> str:
    return f"{minor}-{way}-{ability.name}"
