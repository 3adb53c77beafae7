"""Random changes of a table with a key of two columns, of which `kind` may be its partitioning."""

from __future__ import annotations

import random
from collections.abc import Callable

COLUMNS = "id INT, kind STRING, v STRING, PRIMARY KEY (id, kind) NOT ENFORCED"


def keyed_change(rng: random.Random, step: int) -> str:
    """A statement on `{table}`."""
    condition = f"id % 4 = {rng.randrange(4)} AND kind = '{rng.choice('ab')}'"
    choices: list[Callable[[], str]] = [
        lambda: f"UPSERT INTO {{table}} VALUES {_values(rng, step)}",
        lambda: f"UPSERT INTO {{table}} VALUES {_values(rng, step)}",
        lambda: (
            f"MERGE INTO {{table}} AS t USING (SELECT * FROM VALUES {_values(rng, step)} AS s(id, kind, v)) AS s"
            " ON t.id = s.id AND t.kind = s.kind WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
        ),
        lambda: f"DELETE FROM {{table}} WHERE {condition}",
        lambda: f"UPDATE {{table}} SET v = concat(v, '+') WHERE {condition}",
    ]
    return rng.choice(choices)()


def _values(rng: random.Random, step: int) -> str:
    keys = rng.sample([(id, kind) for id in range(8) for kind in "ab"], 5)
    return ", ".join(f"({id}, '{kind}', '{step}')" for id, kind in keys)
