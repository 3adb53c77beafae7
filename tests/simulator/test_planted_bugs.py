"""The simulator finds what it is there for: each planted bug breaks an invariant within some seeds."""

from __future__ import annotations

import pytest

from simulator.faults import Fault
from simulator.planted.commits import BUGS
from simulator.planted.databases import BUGS_OF_DATABASES
from simulator.planted.servers import BUGS_OF_SERVERS
from simulator.server import CHANGE
from simulator.simulation import simulate

MOST_SEEDS = 3_000
# Rare ones show where these seeds begin; should the statements of a seed change, they show somewhere else.
FIRST_SEEDS = {
    "what newer metadata do not show has not landed": 350,
    "a group keeps the sequence numbers of its first attempt": 170,
    "a commit lands in a table made anew": 2_100,
    "changelogs of lost attempts stay": 540,
    "a changelog is that of the first attempt": 320,
    "a hint makes the folder of a dropped table": 720,
    "a hint goes to another table of the name": 720,
}
FIRST_SEEDS_OF_DATABASES = {
    "a table is made in the place of another": 50,
    "a commit without an answer counts as refused": 50,
    "a metadata file is deleted when the outcome is unknown": 50,
    "the token of a commit without an answer is not looked for": 50,
}
# What a proxy has to do for the bug to show, so that few seeds tell.
FAULTS_OF_SERVERS = {
    "what a server refuses has not landed": "delivered twice",
    "any newer version overtakes a request": "delivered late",
    "several tables that were refused have not landed in part": "half applied",
    "an answer that cannot be read counts as refused": "garbled",
}


@pytest.mark.turns(15)
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(bug: str) -> None:
    first = FIRST_SEEDS.get(bug, 0)
    with BUGS[bug]():
        assert any(simulate(seed).violation is not None for seed in range(first, first + MOST_SEEDS))


@pytest.mark.parametrize("bug", BUGS_OF_DATABASES)
def test_a_planted_bug_of_a_catalog_in_a_database_is_caught(bug: str) -> None:
    first = FIRST_SEEDS_OF_DATABASES.get(bug, 0)
    with BUGS_OF_DATABASES[bug]():
        seeds = range(first, first + MOST_SEEDS // 10)
        assert any(simulate(seed, catalog="sql").violation is not None for seed in seeds)


@pytest.mark.parametrize("bug", BUGS_OF_SERVERS)
def test_a_planted_bug_of_a_catalog_behind_a_server_is_caught(bug: str) -> None:
    what = FAULTS_OF_SERVERS.get(bug)
    with BUGS_OF_SERVERS[bug]():
        for seed in range(MOST_SEEDS // 10):
            faults = None if what is None else [Fault(CHANGE, what, nth) for nth in (1, 2, 4, 7)]
            if simulate(seed, catalog="rest", faults=faults).violation is not None:
                return
    raise AssertionError("not caught")
