"""Upserts of one writer's own keys, one after another, of which a version of the table tells how many have landed.

Each statement also changes the row of a counter. So the writer's rows in any snapshot are those after that many
statements, whatever has been rewritten, expired or removed meanwhile. The statements depend on the seed alone: a
process that was killed goes on after the last that landed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

KEYS = 40
_COUNTER = -1
_IDS = 1000


@dataclass(frozen=True, slots=True)
class CountedHistory:
    """The statements of the writer of this number; `deletes` says whether some of them delete keys."""

    number: int
    seed: int
    deletes: bool = True

    def statement(self, count: int) -> Mapping[int, int | None]:
        """The statement after which `count` have landed: values by id, None for a key that it deletes."""
        rng = random.Random(self.seed * 1_000_003 + count)
        keys = rng.sample(range(KEYS), rng.randint(1, 8))
        value = None if self.deletes and rng.random() < 0.3 else count
        return {**{self._id(key): value for key in keys}, self._id(_COUNTER): count}

    def landed(self, rows: Mapping[int, int]) -> int:
        """How many statements the rows of a table, values by id, are after."""
        return rows.get(self._id(_COUNTER), 0)

    def require_state(self, rows: Mapping[int, int]) -> int:
        """As `landed`; the writer's rows are those after so many of its statements."""
        landed, expected = self.landed(rows), dict[int, int]()
        for count in range(1, landed + 1):
            for id, value in self.statement(count).items():
                if value is None:
                    expected.pop(id, None)
                else:
                    expected[id] = value
        assert {id: value for id, value in rows.items() if id // _IDS == self.number} == expected, (self, landed)
        return landed

    def _id(self, key: int) -> int:
        return self.number * _IDS + key + 1
