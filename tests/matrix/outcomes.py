"""Outcomes of the runs of the matrix, kept in `build/matrix/outcomes` for docs/compatibility.md.

One is of the sources that it was run with: a change of sqlext, of an ability or of the core script makes it void.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from matrix.ability import WAYS, Ability, abilities
from matrix.attempts import Attempt
from matrix.core_runs import CoreRun
from sqlext.spark.shim.supported_spark import MINORS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "matrix" / "outcomes"
PROJECT = ROOT / "pyproject.toml"
CORE = Path(__file__).parent / "core.py"

YES, REFUSED, FAILED = "yes", "refused", "FAILED"


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
    """The outcomes of this clone, by what was run."""

    def __init__(self) -> None:
        self._source = _hash(made_of())

    def put_ability(self, minor: str, way: str, ability: Ability, outcome: Outcome) -> None:
        self._put(_cell(minor, way, ability), [ability.path()], outcome)

    def ability(self, minor: str, way: str, ability: Ability) -> Outcome | None:
        """The outcome of these sources, or None."""
        return self._get(_cell(minor, way, ability), [ability.path()])

    def put_core(self, run: CoreRun, outcome: Outcome) -> None:
        self._put(f"core-{run.name()}", _of_core(run), outcome)

    def core(self, run: CoreRun) -> Outcome | None:
        """The outcome of these sources, or None."""
        return self._get(f"core-{run.name()}", _of_core(run))

    def missing(self, runs: Sequence[CoreRun]) -> list[str]:
        """What has no outcome with these sources, or a failed one, in words."""
        of_abilities = {
            f"{way} on {minor}": [self.ability(minor, way, one) for one in abilities() if way in one.ways()]
            for minor in MINORS
            for way in WAYS
        }
        found = {**of_abilities, **{f"core: {run.name()}": [self.core(run)] for run in runs}}
        return [name for name, outcomes in found.items() if any(map(is_missing, outcomes))]

    def _put(self, name: str, tried: Sequence[Path], outcome: Outcome) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        told = {**asdict(outcome), "source": self._source, "tried": _hash(tried)}
        (FOLDER / f"{name}.json").write_text(json.dumps(told, indent=1))

    def _get(self, name: str, tried: Sequence[Path]) -> Outcome | None:
        path = FOLDER / f"{name}.json"
        if not path.exists():
            return None
        told = json.loads(path.read_text())
        if told["source"] != self._source or told["tried"] != _hash(tried):
            return None
        return Outcome(told["kind"], told["told"], Versions(**told["versions"]))


def _of_core(run: CoreRun) -> list[Path]:
    """What a run of the core depends on beside the sources."""
    return [CORE, PROJECT] if run.oldest else [CORE]


def _hash(files: Sequence[Path]) -> str:
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _cell(minor: str, way: str, ability: Ability) -> str:
    return f"{minor}-{way}-{ability.name}"
