"""2, 8 and 32 processes race on one table with appends, upserts of their own key and one counter: all land, and the
counter is the number of acknowledgements."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fault.writing_process import TABLE, LocalProcess, processes, race
from simulator.statements import Change, Create

_COUNTER = 0


@pytest.mark.parametrize(("racers", "rounds"), [(2, 5), (8, 2), (32, 1)])
def test_all_of_a_race_land(tmp_path: Path, racers: int, rounds: int) -> None:
    options: Mapping[str, str] = {"warehouse": str(tmp_path)}
    process = LocalProcess(options).with_namespace()
    assert process.run(Create("c", TABLE, format_version=3)) == "acknowledged"
    counter = Change("c", TABLE, kind="append", ids=frozenset((_COUNTER,)))
    assert process.run(counter) == "acknowledged"
    start, results = processes.Barrier(racers), processes.Queue()
    children = [processes.Process(target=race, args=(options, n, rounds, start, results)) for n in range(racers)]
    for child in children:
        child.start()
    answers: list[tuple[str, str, Any]] = [answer for _ in children for answer in results.get(timeout=300)]
    for child in children:
        child.join()
    assert [answer for answer in answers if answer[1] != "acknowledged"] == []
    rows = process.rows(counter)
    assert rows is not None
    ids = [id for id, _ in rows.elements()]
    names = {name for name, _, _ in answers}
    appended = {text for _, text in rows.elements() if text.startswith("a")}
    assert appended == {name for name in names if name.startswith("a")}
    # of its own key each has the row of its last upsert
    assert {text for _, text in rows.elements() if text.startswith("u")} == {
        f"u{n}.{rounds - 1};" for n in range(racers)
    }
    (count,) = (text for id, text in rows.elements() if id == _COUNTER)
    told = [name for name in names if name.startswith("n")]
    assert sorted(count.removeprefix("c").split(";")[:-1]) == sorted(name.removesuffix(";") for name in told)
    assert len(ids) == 1 + len(appended) + racers
