"""The commit loop: lost races, answers that never came, crashes, and what is left on disk after each."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from small_tables import (
    ORDERS,
    InterruptedIO,
    Writer,
    data_file,
    files_below,
    ids_read_by_pyiceberg,
    no_space_for,
    summary_of,
    warehouse_catalog,
)
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.errors import (
    CommitConflict,
    CommitStateUnknown,
    NotFoundError,
    StorageError,
    ValidationConflict,
)


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path), seed=1)
    writer.create()
    return writer


@pytest.fixture
def other(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path), seed=2)


def _breaking_metadata(tmp_path: Path, *, times: int, landed: bool) -> Writer:
    """A writer whose store gives no answer the first `times` it makes a metadata file."""
    left = [times]

    def around_create(location: str, create: Callable[[], None]) -> None:
        if not location.endswith(".metadata.json") or left[0] == 0:
            create()
            return
        left[0] -= 1
        if landed:
            create()
        raise TimeoutError("no answer")

    return Writer(warehouse_catalog(tmp_path, InterruptedIO(around_create)), seed=3)


def test_a_lost_race_is_run_again_on_the_newer_table(tmp_path: Path, writer: Writer, other: Writer) -> None:
    base = writer.load()
    other.append(1)

    outcome = writer.append(2, base=base)

    assert outcome.attempts == 2
    assert ids_read_by_pyiceberg(outcome.table) == [1, 2]
    assert summary_of(outcome.table)["total-records"] == "2"
    assert outcome.snapshot is not None
    assert outcome.snapshot.sequence_number == 2


def test_a_lost_race_leaves_no_file_of_the_lost_attempt(tmp_path: Path, writer: Writer, other: Writer) -> None:
    base = writer.load()
    other.append(1)
    outcome = writer.append(2, base=base)

    lists = {s.manifest_list.rpartition("/")[2] for s in outcome.table.metadata.snapshots}
    on_disk = {name.rpartition("/")[2] for name in files_below(tmp_path) if "/snap-" in name}
    assert on_disk == lists
    manifests = [name for name in files_below(tmp_path) if "-m" in name and name.endswith(".avro")]
    assert len(manifests) == 2


def test_retries_wait_longer_each_time_and_end_at_the_deadline(tmp_path: Path, writer: Writer) -> None:
    base = writer.load()
    other = Writer(warehouse_catalog(tmp_path), seed=2)

    def overtake(location: str, create: Callable[[], None]) -> None:
        if location.endswith(".metadata.json"):
            other.append(len(location))
        create()

    slow = Writer(warehouse_catalog(tmp_path, InterruptedIO(overtake)), seed=4)
    file = data_file(base.metadata, [7])
    before = len(slow.clock.slept_s)
    with pytest.raises(CommitConflict, match="attempts over"):
        slow.commit(AppendFiles((file,)), base=base, deadline_s=5)

    waits = slow.clock.slept_s[before:]
    assert 4 < sum(waits) <= 5.01
    assert max(waits) > 4 * waits[0] or len(waits) < 4
    assert not Path(file.file_path.removeprefix("file://")).exists()


def test_a_deadline_in_the_past_still_allows_one_attempt(writer: Writer) -> None:
    table = writer.load()
    action = AppendFiles((data_file(table.metadata, [1]),))
    assert writer.commit(action, base=table, deadline_s=0).attempts == 1


@pytest.mark.parametrize("landed", [True, False])
def test_an_unanswered_commit_is_found_out_by_its_token(tmp_path: Path, writer: Writer, landed: bool) -> None:
    unlucky = _breaking_metadata(tmp_path, times=1, landed=landed)

    outcome = unlucky.append(1)

    assert outcome.attempts == 1
    assert ids_read_by_pyiceberg(writer.load()) == [1]
    assert len(writer.load().metadata.snapshots) == 1
    assert outcome.table.metadata == writer.load().metadata


def test_an_unanswered_commit_that_another_overtook_is_run_again(tmp_path: Path, writer: Writer, other: Writer) -> None:
    def overtaken(location: str, create: Callable[[], None]) -> None:
        if location.endswith("v2.metadata.json"):
            other.append(1)
            raise TimeoutError("no answer")
        create()

    unlucky = Writer(warehouse_catalog(tmp_path, InterruptedIO(overtaken)), seed=3)
    outcome = unlucky.append(2)

    assert outcome.attempts == 2
    assert ids_read_by_pyiceberg(outcome.table) == [1, 2]


def test_a_landed_commit_under_a_newer_one_counts_as_landed(tmp_path: Path, writer: Writer, other: Writer) -> None:
    def land_then_overtaken(location: str, create: Callable[[], None]) -> None:
        create()
        if location.endswith("v2.metadata.json"):
            other.append(1)
            raise TimeoutError("no answer")

    unlucky = Writer(warehouse_catalog(tmp_path, InterruptedIO(land_then_overtaken)), seed=3)
    outcome = unlucky.append(2)

    assert outcome.attempts == 1
    assert ids_read_by_pyiceberg(other.load()) == [1, 2]


def test_a_landed_change_of_metadata_under_a_newer_one_counts_as_landed(
    tmp_path: Path, writer: Writer, other: Writer
) -> None:
    """It has no snapshot, so the version that came after its base tells."""

    base = writer.append(0).table

    def land_then_overtaken(location: str, create: Callable[[], None]) -> None:
        create()
        if location.endswith("v3.metadata.json"):
            other.append(1)
            raise TimeoutError("no answer")

    unlucky = Writer(warehouse_catalog(tmp_path, InterruptedIO(land_then_overtaken)), seed=3)
    outcome = unlucky.commit(CreateReference("b", "tag"), base=base)
    assert outcome.attempts == 1
    assert "b" in other.load().metadata.refs


def test_an_unanswered_commit_whose_trace_is_gone_stays_unknown(tmp_path: Path, writer: Writer, other: Writer) -> None:
    """What followed its base is trimmed, and it has no snapshot that would show it."""
    properties = {"write.metadata.previous-versions-max": "1", "write.metadata.delete-after-commit.enabled": "true"}
    base = writer.commit(ChangeProperties(properties), base=writer.load()).table

    def overtaken(location: str, create: Callable[[], None]) -> None:
        create()
        if location.endswith("v3.metadata.json"):
            for id in range(3):
                other.append(id)
            raise TimeoutError("no answer")

    unlucky = Writer(warehouse_catalog(tmp_path, InterruptedIO(overtaken)), seed=3)
    with pytest.raises(CommitStateUnknown, match="is gone"):
        unlucky.commit(ChangeProperties({"a": "1"}), base=base)


def test_a_dropped_table_keeps_the_files_of_a_commit_that_may_have_landed(
    tmp_path: Path, writer: Writer, other: Writer
) -> None:
    def landed_and_dropped(location: str, create: Callable[[], None]) -> None:
        create()
        if location.endswith(".metadata.json"):
            (tmp_path / "db/orders").rename(tmp_path / "db/.dropped")
            raise TimeoutError("no answer")

    before = files_below(tmp_path)
    with pytest.raises(CommitStateUnknown, match="TABLE_OR_VIEW_NOT_FOUND"):
        Writer(warehouse_catalog(tmp_path, InterruptedIO(landed_and_dropped)), seed=3).append(1)
    (tmp_path / "db/.dropped").rename(tmp_path / "db/orders")
    assert before < files_below(tmp_path)
    assert ids_read_by_pyiceberg(other.load()) == [1]


@pytest.mark.parametrize("part", ["-m0.avro", "snap-"])
def test_a_file_without_an_answer_before_the_swap_is_one_clear_error(tmp_path: Path, writer: Writer, part: str) -> None:
    def unanswered(location: str, create: Callable[[], None]) -> None:
        create()
        if part in location:
            raise TimeoutError("no answer")

    before = files_below(tmp_path)
    with pytest.raises(StorageError, match="no answer"):
        Writer(warehouse_catalog(tmp_path, InterruptedIO(unanswered)), seed=3).append(1)
    assert files_below(tmp_path) == before


def test_a_statement_on_a_dropped_table_leaves_no_folder(tmp_path: Path, writer: Writer, other: Writer) -> None:
    """An empty one would look like a namespace."""
    table = writer.load()
    other.catalog.drop_table(ORDERS, purge=False)
    with pytest.raises(NotFoundError):
        writer.append(1, base=table)
    assert not (tmp_path / "db/orders").exists()


def test_without_any_answer_nothing_is_deleted(tmp_path: Path, writer: Writer) -> None:
    unlucky = _breaking_metadata(tmp_path, times=100, landed=False)
    before = files_below(tmp_path)

    with pytest.raises(CommitStateUnknown) as raised:
        unlucky.append(1)

    added = {name.rpartition("/")[2] for name in files_below(tmp_path) - before}
    assert {name.rpartition(".")[2] for name in added} == {"parquet", "avro"}
    assert any(raised.value.parameters["commit_id"] in name for name in added)
    assert sum(unlucky.clock.slept_s) > 0


def test_a_property_change_without_an_answer_is_settled_too(tmp_path: Path, writer: Writer) -> None:
    unlucky = _breaking_metadata(tmp_path, times=1, landed=True)
    outcome = unlucky.commit(ChangeProperties({"a": "1"}), base=unlucky.load())
    assert outcome.attempts == 1
    assert writer.load().metadata.properties["a"] == "1"


def test_a_creation_without_an_answer_is_settled_by_its_uuid(tmp_path: Path) -> None:
    unlucky = _breaking_metadata(tmp_path, times=1, landed=True)
    made = unlucky.create()
    assert Writer(warehouse_catalog(tmp_path)).load().metadata.table_uuid == made.metadata.table_uuid


@pytest.mark.parametrize("landed", [True, False])
def test_a_creation_without_an_answer_is_not_sent_again(tmp_path: Path, landed: bool) -> None:
    """It may have landed, and the table have been dropped, which would come back."""
    sent: list[str] = []

    def dropped(location: str, create: Callable[[], None]) -> None:
        sent.append(location)
        if landed:
            create()
            Writer(warehouse_catalog(tmp_path)).catalog.drop_table(ORDERS, purge=True)
        raise TimeoutError("no answer")

    with pytest.raises(CommitStateUnknown, match="no answer"):
        Writer(warehouse_catalog(tmp_path, InterruptedIO(dropped)), seed=3).create()
    assert len(sent) == 1
    assert not Writer(warehouse_catalog(tmp_path)).catalog.table_exists(ORDERS)


def test_a_creation_without_an_answer_that_another_won_is_refused(tmp_path: Path, other: Writer) -> None:
    def overtaken(location: str, create: Callable[[], None]) -> None:
        other.create()
        raise TimeoutError("no answer")

    with pytest.raises(CommitStateUnknown, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        Writer(warehouse_catalog(tmp_path, InterruptedIO(overtaken)), seed=3).create()
    assert other.load().metadata_location.endswith("v1.metadata.json")


@pytest.mark.parametrize("part", ["-m0.avro", "snap-", ".metadata.json"])
def test_a_full_disk_leaves_the_table_and_the_folder_as_they_were(tmp_path: Path, writer: Writer, part: str) -> None:
    before = files_below(tmp_path)
    with pytest.raises(StorageError, match="No space left"):
        Writer(warehouse_catalog(tmp_path, no_space_for(part)), seed=3).append(1)
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("part", ["-m0.avro", "snap-"])
def test_ctrl_c_before_the_swap_leaves_no_file(tmp_path: Path, writer: Writer, part: str) -> None:
    def interrupted(location: str, create: Callable[[], None]) -> None:
        create()
        if part in location:
            raise KeyboardInterrupt

    before = files_below(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        Writer(warehouse_catalog(tmp_path, InterruptedIO(interrupted)), seed=3).append(1)
    assert files_below(tmp_path) == before


def test_ctrl_c_during_the_swap_deletes_nothing_that_may_be_committed(tmp_path: Path, writer: Writer) -> None:
    def interrupted(location: str, create: Callable[[], None]) -> None:
        create()
        if location.endswith(".metadata.json"):
            raise KeyboardInterrupt

    with pytest.raises(CommitStateUnknown, match="KeyboardInterrupt"):
        Writer(warehouse_catalog(tmp_path, InterruptedIO(interrupted)), seed=3).append(1)
    assert ids_read_by_pyiceberg(writer.load()) == [1]


class _Killed(BaseException):
    """Stands for kill -9: nothing may run after it, so the test makes every later call fail as well."""


@pytest.mark.parametrize("step", range(6))
def test_a_kill_at_any_step_leaves_a_table_that_can_be_read_and_written(
    tmp_path: Path, writer: Writer, step: int
) -> None:
    writer.append(1)
    steps = [0]

    def killed(location: str, create: Callable[[], None]) -> None:
        if steps[0] == step:
            steps[0] += 1
            raise _Killed
        steps[0] += 1
        create()
        if steps[0] == step:
            raise _Killed

    io = InterruptedIO(killed)
    io.delete = _refuse  # type: ignore[method-assign]
    victim = Writer(warehouse_catalog(tmp_path, io), seed=3)
    with suppress(_Killed):
        victim.append(2)

    assert ids_read_by_pyiceberg(writer.load()) in ([1], [1, 2])
    writer.append(3)
    assert set(ids_read_by_pyiceberg(writer.load())) >= {1, 3}


def _refuse(location: str) -> None:
    raise _Killed


def test_a_dropped_table_does_not_come_back(tmp_path: Path, writer: Writer, other: Writer) -> None:
    base = writer.load()
    file = data_file(base.metadata, [1])
    other.catalog.drop_table(ORDERS, purge=False)

    with pytest.raises(NotFoundError, match="orders"):
        writer.commit(AppendFiles((file,)), base=base)
    assert not other.catalog.table_exists(ORDERS)


def test_a_table_made_anew_under_the_name_is_not_written(tmp_path: Path, writer: Writer, other: Writer) -> None:
    base = writer.load()
    other.catalog.drop_table(ORDERS, purge=False)
    fresh = other.create()
    file = data_file(base.metadata, [1])

    with pytest.raises(ValidationConflict, match="made anew"):
        writer.commit(AppendFiles((file,)), base=base)
    assert other.load().metadata == fresh.metadata


def test_a_property_that_is_set_already_is_no_commit(writer: Writer) -> None:
    table = writer.commit(ChangeProperties({"a": "1", "b": "2"}), base=writer.load()).table
    again = writer.commit(ChangeProperties({"a": "1"}, frozenset({"none"})), base=table).table
    assert again == table
    removed = writer.commit(ChangeProperties({"c": "3"}, frozenset({"a"})), base=again).table
    assert removed.metadata.properties == {"b": "2", "c": "3"}


def test_snapshot_times_never_go_back(tmp_path: Path, writer: Writer) -> None:
    first = writer.append(1).table
    behind = Writer(warehouse_catalog(tmp_path), seed=3)
    behind.clock.now_ms -= 1_000_000
    outcome = behind.append(2, base=first)
    metadata = json.loads(Path(outcome.table.metadata_location.removeprefix("file://")).read_text())
    times = [entry["timestamp-ms"] for entry in metadata["snapshot-log"]]
    assert times == sorted(times)
    assert metadata["last-updated-ms"] >= times[-1]
