"""What can go wrong at a step, and where: a fault point is an operation on a kind of file.

All that a commit does goes through the I/O, the clock and the randomness it is given, so that nothing else has to know
of faults. The numbers FP… are those of the list in the project's requirements.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlext.errors import StorageError
from sqlext.testing.file_kind import kind_of

POINTS: dict[str, tuple[str, str]] = {
    "FP01-03 data or delete file": ("create", "data file"),
    "FP07 deletion vector": ("create", "deletion vector"),
    "FP09-12 manifest": ("create", "manifest"),
    "FP13-14 manifest list": ("create", "manifest list"),
    "FP15-20,23 compare-and-swap": ("create", "table metadata"),
    "FP21 hint": ("replace", "hint"),
    "FP21 reading the hint": ("read", "hint"),
    "FP22,30 clean-up of a manifest": ("delete", "manifest"),
    "FP22,30 clean-up of a manifest list": ("delete", "manifest list"),
    "FP22,30 clean-up of a data file": ("delete", "data file"),
    "FP22 trimming old metadata": ("delete", "table metadata"),
    "FP27-28 reading table metadata": ("read", "table metadata"),
    "FP27-28 reading a manifest list": ("read", "manifest list"),
    "FP27-28 reading a manifest": ("read", "manifest"),
    "FP29 looking for the next version": ("exists", "table metadata"),
    "FP29 listing": ("list", "folder"),
    "FP45 drop": ("delete_folder", "folder"),
}
"""Every step of a commit by name. FP25 (clocks), FP26 (full disk) and hangs befall a process or the store."""

CHANGELOG_POINTS: dict[str, tuple[str, str]] = {
    "changelog data file": ("create", "changelog data file"),
    "changelog manifest": ("create", "changelog manifest"),
    "changelog written": ("create", "changelog manifest list"),
    "clean-up of a changelog data file": ("delete", "changelog data file"),
    "clean-up of a changelog manifest list": ("delete", "changelog manifest list"),
}
"""Those of commits whose changes are stored with them."""


class Killed(BaseException):
    """The process is gone: it does nothing more, not even clean up."""


@dataclass(slots=True)
class Fault:
    """The `nth` time that `point` is reached from now on, `what` happens."""

    point: str
    what: str
    nth: int

    def strikes(self, operation: str, location: str) -> bool:
        point = POINTS.get(self.point) or CHANGELOG_POINTS.get(self.point)
        if self.nth <= 0 or point != (operation, kind_of(location)):
            return False
        self.nth -= 1
        return self.nth == 0

    def strikes_at(self, point: str) -> bool:
        """As `strikes`, at a point that has no file."""
        if self.nth <= 0 or self.point != point:
            return False
        self.nth -= 1
        return self.nth == 0

    def __str__(self) -> str:
        return f"{self.what} at the {self.nth}. {self.point}"


WRITES = ("create", "replace", "delete", "delete_folder")
_OF_WRITES = ("killed before", "killed after", "refused", "reply lost", "no reply", "delayed", "hung")
_OF_READS = ("killed before", "refused", "stale", "cut short", "hung")


def random_fault(rng: random.Random) -> Fault:
    """Half of the faults are at the compare-and-swap, where they can hurt most."""
    return fault_at("FP15-20,23 compare-and-swap" if rng.random() < 0.5 else rng.choice(sorted(POINTS)), rng)


def fault_at(point: str, rng: random.Random) -> Fault:
    """One of those that can befall a point."""
    operation, _ = POINTS.get(point) or CHANGELOG_POINTS[point]
    kinds = list(_OF_WRITES if operation in WRITES else _OF_READS)
    if operation in ("delete", "delete_folder"):
        kinds.remove("no reply")
    if operation != "read":
        kinds = [kind for kind in kinds if kind != "cut short"]
    if "delayed" in kinds:
        kinds += ["reply lost", "delayed"]
    return Fault(point, rng.choice(kinds), rng.choice((1, 1, 2, 3, 4, 6)))


def refused(operation: str, location: str) -> StorageError:
    return StorageError("STORAGE_FAILURE", operation=operation, path=location, reason="a simulated refusal")


def without_answer(
    what: str, operation: str, effect: Callable[[], Any], later: Callable[[Callable[[], Any]], None]
) -> None:
    """A write that gets no answer: it has happened, has not, or will. Raises what a store would."""
    if what == "reply lost":
        effect()
    elif what == "delayed":
        later(effect)
    raise ConnectionResetError(f"simulated: no answer to {operation} ({what})")
