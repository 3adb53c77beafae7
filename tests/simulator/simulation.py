"""One seed: the tables, the processes with their statements, the faults; and the run of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from unittest.mock import patch

from simulator import database, server
from simulator.changelogs import RecordedChange
from simulator.faults import CHANGELOG_POINTS, Fault, fault_at, random_fault
from simulator.files import CHANGES, EQUALITY, POSITIONS, ROWS
from simulator.invariants import Oracle
from simulator.memory import pure_answers_kept
from simulator.statements import (
    AddOneColumn,
    Change,
    Compact,
    Convert,
    Create,
    Drop,
    MakeBranch,
    Read,
    Replace,
    RewriteOfManifests,
    SetProperty,
    Statement,
    live_rows,
)
from simulator.streams import Consume, IdempotentBatch, StreamedBatch
from simulator.together import Together
from simulator.transactions import Transaction
from simulator.world import CatalogKind, Process, Violation, World
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.errors import CommitStateUnknown, SqlextError
from sqlext.scan.files import manifest_cache

KINDS = ("append", "append", "delete", "update", "update", "merge", "upsert", "copy")
_SHARE_OF_ROWS = {"rows": 0.85, "definitions": 0.3, "names": 0.4}
"""Of the statements of a seed, those that change rows."""
_OTHERS = (
    "property",
    "property",
    "codec",
    "history",
    "column",
    "column",
    "branch",
    "tag",
    "read",
    "convert",
    "replace",
)
_OF_NAMES = ("create", "create", "create", "drop", "drop", "replace", "property", "read")
_IDS = range(4)
_SHARE_OF_GROUPS = 0.25
_SHARE_OF_MERGING = 0.5
"""Of the seeds with groups."""
_SHARE_OF_COMPACTIONS = 0.2
_SHARE_OF_REWRITES = 0.3
_SHARE_OF_SMALL_MANIFESTS = 0.1
_SHARE_OF_CHANGELOGS = 0.1
_SHARE_OF_TRANSACTIONS = 0.35
_SHARE_OF_STREAMS = 0.35
_SHARE_OF_BATCHES = 0.2
_SHARE_OF_THREADS = 0.3
"""Of the seeds, those whose processes take turns as threads of one."""


@dataclass(frozen=True)
class Outcome:
    """How a seed ended: counts of statements by kind and outcome, and the violation if there was one."""

    seed: int
    counts: Counter[str]
    violation: Violation | None
    trace: list[tuple[object, ...]]
    faults: list[str]

    def told(self) -> str:
        """The trace as text."""
        lines = [f"seed {self.seed}", *(f"fault: {fault}" for fault in self.faults)]
        lines += [" ".join(str(part) for part in line if part is not None) for line in self.trace]
        return "\n".join([*lines, f"violation: {self.violation}"])


def simulate(seed: int, *, faults: list[Fault] | None = None, catalog: CatalogKind = "folder") -> Outcome:
    """Runs a seed. The same seed on the same code takes the same steps."""
    # Manifests of large tables are decoded in another way than those of small ones: every other seed has it, too.
    fewest = 1 if seed % 2 else manifest_cache._FEWEST_FOR_COLUMNS
    with pure_answers_kept(), patch.object(manifest_cache, "_FEWEST_FOR_COLUMNS", fewest):
        return _simulate(seed, faults, catalog)


def _simulate(seed: int, faults: list[Fault] | None, catalog: CatalogKind) -> Outcome:
    for known in (ROWS, EQUALITY, POSITIONS, CHANGES):
        known.clear()
    rng = random.Random(f"statements {seed}")
    if faults is None:
        faults = [_fault(rng, catalog) for _ in range(rng.choice((0, 1, 1, 2, 3, 5)))] + _faults_of_changelogs(seed)
    world = World(seed, faults, catalog)
    told = [str(fault) for fault in faults]
    oracle = Oracle(world.store, world.shared)
    world.ended = oracle.ended
    statements: list[Statement] = []
    violation = None
    try:
        setup = Process(world, "setup", seed)
        setup.catalog.create_namespace(("db",), {})
        for statement in _beginning(rng, seed):
            setup.execute(statement)
        world.processes = _processes(world, rng, seed)
        if catalog == "rest":
            _take_in_transactions(world.processes, setup, seed)
            _take_in_streams(world.processes, seed)
        run = [one for process in world.processes for one in process.statements]
        of_several = Together | Transaction
        statements = [part for one in run for part in (one.parts if isinstance(one, of_several) else (one,))]
        if rng.random() < 0.1:
            start = rng.randrange(150)
            world.full_between = start, start + rng.randrange(5, 80)
        world.run()
        _at_the_end(world, oracle, statements)
    except Violation as broken:
        violation = broken
    finally:
        world.close()
    counts = Counter(f"{_kind(one)} {one.outcome}" for one in statements)
    return Outcome(seed, counts, violation, world.trace, told)


def _fault(rng: random.Random, catalog: CatalogKind) -> Fault:
    """Where there is a database or a server, half of the faults are there."""
    if catalog == "folder" or rng.random() < 0.5:
        return random_fault(rng)
    of = database if catalog == "sql" else server
    point = rng.choice((of.CHANGE, of.CHANGE, of.QUERY))
    return Fault(
        point, rng.choice(of.OF_CHANGES if point == of.CHANGE else of.OF_QUERIES), rng.choice((1, 1, 2, 3, 4, 6))
    )


def _beginning(rng: random.Random, seed: int) -> list[Statement]:
    table = TableIdentifier(("db",), "t")
    properties = {"commit.manifest.min-count-to-merge": rng.choice(("2", "3", "5", "100"))}
    if random.Random(f"sizes of manifests {seed}").random() < _SHARE_OF_SMALL_MANIFESTS:
        properties["commit.manifest.target-size-bytes"] = "9000"
    if rng.random() < 0.4:
        properties["write.metadata.delete-after-commit.enabled"] = "true"
        properties["write.metadata.previous-versions-max"] = rng.choice(("1", "2", "4"))
    if rng.random() < 0.2:
        properties["write.metadata.compression-codec"] = "gzip"
    properties["commit.status-check.num-retries"] = rng.choice(("0", "1", "3"))
    create = Create("s0", table, format_version=rng.choice((2, 3)), properties=properties)
    appends: list[Statement] = [
        Change(f"s{number}", table, kind="append", ids=frozenset(rng.sample(_IDS, rng.choice((1, 2)))))
        for number in range(1, rng.choice((2, 3)))
    ]
    return [create, *appends]


def _processes(world: World, rng: random.Random, seed: int) -> list[Process]:
    mode = rng.choice(("rows", "rows", "rows", "definitions", "names"))
    processes = []
    for number in range(1, rng.choice((2, 3, 3, 4, 5)) + 1):
        process = Process(world, f"p{number}", seed)
        if rng.random() < 0.1:
            process.clock_skew_ms = rng.choice((-3_600_000, -500, 500, 3_600_000))
        length = rng.choice((1, 2, 2, 3))
        process.statements = [_statement(rng, f"p{number}.{place}", mode) for place in range(length)]
        processes.append(process)
    # Beside the statements' own randomness: seeds without compactions or groups stay what they are.
    of_compactions = random.Random(f"compactions {seed}")
    if of_compactions.random() < _SHARE_OF_COMPACTIONS:
        for process in processes:
            place = of_compactions.randint(0, len(process.statements))
            compaction = Compact(f"{process.name}.c", TableIdentifier(("db",), "t"))
            process.statements = [*process.statements[:place], compaction, *process.statements[place:]]
    of_manifests = random.Random(f"manifests {seed}")
    if of_manifests.random() < _SHARE_OF_REWRITES:
        for process in processes:
            place = of_manifests.randint(0, len(process.statements))
            rewrite = RewriteOfManifests(f"{process.name}.m", TableIdentifier(("db",), "t"))
            process.statements = [*process.statements[:place], rewrite, *process.statements[place:]]
    if _stores_changes(seed):
        for process in processes:
            process.statements = [_recorded(one) for one in process.statements]
    of_groups = random.Random(f"groups {seed}")
    if of_groups.random() < _SHARE_OF_GROUPS:
        merges = random.Random(f"merging {seed}").random() < _SHARE_OF_MERGING
        for process in processes:
            process.statements = [_together(of_groups, one, merges) for one in process.statements]
    _take_in_batches(processes, seed)
    if random.Random(f"threads {seed}").random() < _SHARE_OF_THREADS:
        queue = AttemptQueue(world.wait_for)
        for process in processes:
            process.queue = queue
    return processes


def _take_in_transactions(processes: Sequence[Process], setup: Process, seed: int) -> None:
    """Makes some changes of rows ones of two tables."""
    rng = random.Random(f"transactions {seed}")
    if rng.random() > _SHARE_OF_TRANSACTIONS:
        return
    other = TableIdentifier(("db",), "u")
    setup.execute(Create("s0u", other, properties={"commit.status-check.num-retries": "3"}))
    setup.execute(Change("s1u", other, kind="append", ids=frozenset((0, 1))))
    for process in processes:
        process.statements = [_of_two_tables(rng, one, other) for one in process.statements]


def _of_two_tables(rng: random.Random, statement: Statement, other: TableIdentifier) -> Statement:
    if type(statement) is not Change or rng.random() < 0.2:
        return statement
    ids = frozenset(rng.sample(_IDS, rng.choice((1, 1, 2))))
    second = Change(f"{statement.name}u", other, kind=rng.choice(KINDS), ids=ids)
    parts = rng.sample([statement, second], 2)
    return Transaction(f"{statement.name}x", statement.table, parts=parts)


def _take_in_batches(processes: Sequence[Process], seed: int) -> None:
    """Some processes write the same batch of an application."""
    rng = random.Random(f"batches {seed}")
    if rng.random() > _SHARE_OF_BATCHES:
        return
    table = TableIdentifier(("db",), "t")
    for process in processes:
        if rng.random() < 0.7:
            place = rng.randint(0, len(process.statements))
            batch = IdempotentBatch(f"{process.name}.i", table, row_id=rng.choice(_IDS))
            process.statements = [*process.statements[:place], batch, *process.statements[place:]]


def _take_in_streams(processes: Sequence[Process], seed: int) -> None:
    """Some processes write a batch of a stream first, or move a consumer last."""
    rng = random.Random(f"streams {seed}")
    if rng.random() > _SHARE_OF_STREAMS:
        return
    table = TableIdentifier(("db",), "t")
    for process in processes:
        if rng.random() < 0.6:
            batch = StreamedBatch(f"{process.name}.s", table, row_id=rng.choice(_IDS))
            process.statements = [batch, *process.statements]
        if rng.random() < 0.4:
            process.statements = [*process.statements, Consume(f"{process.name}.r", table)]


def _stores_changes(seed: int) -> bool:
    return random.Random(f"changelogs {seed}").random() < _SHARE_OF_CHANGELOGS


def _faults_of_changelogs(seed: int) -> list[Fault]:
    """Half of the seeds that store changes have one."""
    rng = random.Random(f"faults of changelogs {seed}")
    if not _stores_changes(seed) or rng.random() < 0.5:
        return []
    return [fault_at(rng.choice(sorted(CHANGELOG_POINTS)), rng)]


def _recorded(statement: Statement) -> Statement:
    """A change of rows that stores what it changes."""
    if not isinstance(statement, Change):
        return statement
    return RecordedChange(statement.name, statement.table, kind=statement.kind, ids=statement.ids, on=statement.on)


def _together(rng: random.Random, statement: Statement, merges: bool) -> Statement:
    """A change of rows with others of its branch."""
    if not isinstance(statement, Change) or rng.random() < 0.3:
        return statement
    others = [
        Change(
            f"{statement.name}{letter}",
            statement.table,
            kind=rng.choice(KINDS),
            ids=frozenset(rng.sample(_IDS, rng.choice((1, 1, 2)))),
            on=statement.on,
        )
        for letter in "abc"[: rng.choice((1, 2, 3))]
    ]
    parts = rng.sample([statement, *others], len(others) + 1)
    return Together(f"{statement.name}g", statement.table, parts=parts, merges=merges)


def _statement(rng: random.Random, name: str, mode: str) -> Statement:
    table = TableIdentifier(("db",), "t")
    if rng.random() < _SHARE_OF_ROWS[mode]:
        on = "b" if rng.random() < 0.06 else "main"
        ids = frozenset(rng.sample(_IDS, rng.choice((1, 1, 2))))
        return Change(name, table, kind=rng.choice(KINDS), ids=ids, on=on)
    match rng.choice(_OTHERS if mode != "names" else _OF_NAMES):
        case "property":
            return SetProperty(name, table, key=rng.choice(("x", "y")), value=name)
        case "codec":
            key = "write.metadata.compression-codec"
            return SetProperty(name, table, key=key, value=rng.choice(("none", "gzip")))
        case "history":
            key = "write.metadata.previous-versions-max"
            return SetProperty(name, table, key=key, value=rng.choice(("1", "2", "3")))
        case "column":
            return AddOneColumn(name, table)
        case "branch":
            return MakeBranch(name, table, ref="b")
        case "tag":
            return MakeBranch(name, table, ref="g", type="tag")
        case "convert":
            return Convert(name, table)
        case "create":
            properties = {"write.metadata.compression-codec": rng.choice(("none", "gzip"))}
            return Create(name, table, with_row=rng.random() < 0.5, properties=properties)
        case "drop":
            return Drop(name, table)
        case "replace":
            return Replace(name, table, with_row=rng.random() < 0.5)
    return Read(name, table)


def _at_the_end(world: World, oracle: Oracle, statements: list[Statement]) -> None:
    """Every table is read once more by a process that nothing befalls, and there is no litter but that of failures."""
    reader = Process(world, "reader", 0)
    for location, table in oracle.tables.items():
        oracle.check_current(location)
        *_, namespace, name = location.split("/")
        try:
            loaded = reader.catalog.load_table(TableIdentifier((namespace,), name))
            live, stored = live_rows(reader, loaded, "main")
        except SqlextError as error:
            raise Violation(f"I-1: {location} cannot be read at the end: {error}") from error
        found = Counter(stored[path][1][at] for path, positions in live.items() for at in positions)
        head = loaded.metadata.current_snapshot_id
        if found != (Counter() if head is None else table.rows[head]):
            raise Violation(f"I-1: the rows of {location} at the end are {found}")
    _require_one_run(statements)
    quiet = not world.faults and world.full_between == (0, 0)
    if quiet:
        # Of a request to a table that was dropped nobody knows whether it came first; its files stay with the table's.
        was_dropped_on_a_server = isinstance(world.shared, server.SharedServer) and oracle.drops > 0
        if not was_dropped_on_a_server:
            _require_no_litter(world, oracle)
        _require_all_landed(statements)


def _require_one_run(statements: Sequence[Statement]) -> None:
    """All idempotent batches of a seed are runs of one batch."""
    landed = [one for one in statements if isinstance(one, IdempotentBatch) and one.landed]
    for table, times in Counter(one.landed_in for one in landed).items():
        if times > 1:
            raise Violation(f"I-1: the table {table} has a batch from {' and '.join(map(str, landed))}")


def _require_no_litter(world: World, oracle: Oracle) -> None:
    referenced = {path for table in oracle.tables.values() for path in table.referenced} | oracle.left_behind
    for path in world.store.files:
        _, maker = world.store.makers.get(path) or (None, None)
        name = path.rpartition("/")[2]
        if maker is not None and maker.was_unknown:
            continue
        if path not in referenced and name != "version-hint.text" and ".metadata.json" not in name:
            raise Violation(f"{path} is left, and nothing references it")


def _require_all_landed(statements: list[Statement]) -> None:
    """A writer that stood still while others trimmed the version it started from cannot know what became of its own."""
    for statement in statements:
        error = statement.error
        overtaken = isinstance(error, CommitStateUnknown) and (
            error.condition in ("TABLE_OR_VIEW_NOT_FOUND", "TABLE_OR_VIEW_ALREADY_EXISTS")
            or str(error.parameters["reason"]).endswith(" is gone")
        )
        if statement.outcome not in ("acknowledged", "refused") and not overtaken:
            raise Violation(f"{statement} is {statement.outcome}, and nothing went wrong")
        if isinstance(statement, Change) and statement.outcome == "refused":
            condition = getattr(statement.error, "condition", "")
            allowed = (
                "CONCURRENT_CHANGE",
                "WRITE_CONFLICT",
                "TABLE_OR_VIEW_NOT_FOUND",
                "FILE_NOT_FOUND",
                "COMMIT_CONFLICT",
                "TRANSACTION_CONFLICT",
                "TRANSACTION_READ_CONFLICT",
            )
            if condition not in allowed or (statement.kind == "append" and condition == "WRITE_CONFLICT"):
                raise Violation(f"{statement} was refused: {statement.error}")


def _kind(statement: Statement) -> str:
    return statement.kind if isinstance(statement, Change) else type(statement).__name__
