"""What came of each ability in one way to run on one Spark, as lines of JSON between the processes of the matrix."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
"""An error condition in the text of an error."""
_LINE = "attempt: "


@dataclass(frozen=True, slots=True)
class Attempt:
    """The cells of the row that the last statement gave, as one text, or else the statement that failed, numbered from
    0, and its error."""

    ability: str
    cell: str | None
    failed_at: int | None = None
    error: str | None = None

    def condition(self) -> str | None:
        """The error's condition, if it has one."""
        found = CONDITION.search(self.error or "")
        return found.group(1) if found else None


def tell(attempts: Iterable[Attempt]) -> None:
    """Prints each as it comes, for `read`."""
    for attempt in attempts:
        print(_LINE + json.dumps(asdict(attempt)), flush=True)


def read(lines: Iterable[str]) -> Iterator[Attempt]:
    """Those of a process, whose other lines are shown."""
    for line in lines:
        if line.startswith(_LINE):
            yield Attempt(**json.loads(line.removeprefix(_LINE)))
        else:
            print(line, end="", file=sys.stderr)
