"""Damaged views: what is found, what a repair does, and what it leaves as it was."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.catalog.catalog import all_views
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.metadata_file import HINT_NAME
from sqlext.command.doctor.answer import Answer, Repairing
from sqlext.command.doctor.consultation import consult
from sqlext.scan.checks.finding import Severity
from sqlext.scan.checks.view_checks import view_findings
from sqlext.spec.metadata.view_metadata import ViewLogEntry, ViewMetadata, decode_view_metadata, encode_view_metadata
from sqlext.storage.location import to_local_path
from unit.command.lake import NAMESPACE, Lake
from unit.spec.metadata.test_view_metadata import INTS, LONGS, version, view

V = TableIdentifier(NAMESPACE, "v.x")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A view of two versions, whose name has a dot."""
    made = Lake(tmp_path)
    views = made.catalog.views
    first = replace(view(), location=views.default_view_location(V))
    loaded = views.commit_view(V, None, first)
    views.commit_view(V, loaded, first.with_version(version("q2", 1_700_000_001_000), LONGS))
    return made


def fsck(lake: Lake, repair: Repairing = Repairing.NOTHING) -> Sequence[Answer]:
    return consult(lake.environment, "lake", V, repair)


def files(lake: Lake) -> list[Path]:
    return sorted(Path(to_local_path(lake.catalog.views.default_view_location(V)), "metadata").iterdir())


def query(lake: Lake) -> str | None:
    return lake.catalog.views.load_view(V).metadata.version().sql("spark")


def current(lake: Lake) -> Path:
    return Path(to_local_path(lake.catalog.views.load_view(V).metadata_location))


def test_views_of_all_namespaces_are_looked_at(lake: Lake) -> None:
    assert list(all_views(lake.catalog)) == [V]
    assert fsck(lake) == []


def test_a_flipped_bit_is_found_and_mended(lake: Lake) -> None:
    file, rng = current(lake), random.Random(20261126)
    data = file.read_bytes()
    version = data.index(b'"format-version":') + len(b'"format-version":')
    # Those of the beginning too, by which a view's file is told from a table's.
    for bit in [
        *range(8 * 24),
        *range(8 * version, 8 * version + 8),
        *(rng.randrange(8 * len(data)) for _ in range(200)),
    ]:
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        assert [one for one in fsck(lake) if one.finding.severity == Severity.ERROR], bit
        assert "nothing is lost" in fsck(lake, Repairing.DAMAGE)[0].repair, bit
        assert file.read_bytes() == data, bit
    assert fsck(lake) == []


def lose(file: Path) -> None:
    file.unlink()


def scramble(file: Path) -> None:
    """Of what tells that it is a view's, nothing is left."""
    file.write_bytes(bytes(byte ^ 0x5A for byte in file.read_bytes()))


def change(file: Path) -> None:
    """It can still be read."""
    file.write_bytes(file.read_bytes().replace(b'"sql":"q2"', b'"sql":"zz"'))


@pytest.mark.parametrize("way", [lose, scramble, change])
def test_the_version_before_takes_the_place_of_one_that_is_lost(lake: Lake, way: Callable[[Path], None]) -> None:
    way(current(lake))
    (found, *_) = fsck(lake)
    assert found.finding.severity == Severity.ERROR
    (done, *_) = fsck(lake, Repairing.DAMAGE)
    assert "the changes after it are lost" in done.repair
    assert query(lake) == "q1"
    assert fsck(lake) == []
    loaded = lake.catalog.views.load_view(V)
    lake.catalog.views.commit_view(V, loaded, loaded.metadata.with_version(version("q3"), INTS))
    assert query(lake) == "q3"


def test_a_view_of_one_version_cannot_be_restored(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    views = lake.catalog.views
    views.commit_view(V, None, replace(view(), location=views.default_view_location(V)))
    file = current(lake)
    file.write_bytes(file.read_bytes().replace(b'"sql":"q1"', b'"sql":"zz"'))
    (done,) = fsck(lake, Repairing.DAMAGE)
    assert "not done" in done.repair
    assert "CREATE OR REPLACE VIEW" in done.repair


def test_an_earlier_file_of_another_view_is_left(lake: Lake) -> None:
    first, *_ = (file for file in files(lake) if file.name != HINT_NAME)
    other = replace(decode_view_metadata(first.read_bytes(), "v"), view_uuid="11111111-0000-4000-8000-000000000000")
    first.write_bytes(encode_view_metadata(other))
    change(current(lake))
    assert "not done" in fsck(lake, Repairing.DAMAGE)[0].repair


FAULTS: dict[str, tuple[Callable[[ViewMetadata], ViewMetadata], str]] = {
    "two versions of an id": (lambda one: replace(one, versions=(*one.versions, one.versions[0])), "id"),
    "two schemas of an id": (lambda one: replace(one, schemas=(*one.schemas, one.schemas[0])), "id"),
    "a log of what is not there": (
        lambda one: replace(one, version_log=(ViewLogEntry(0, 77), *one.version_log)),
        "reference",
    ),
    "a log that ends before": (lambda one: replace(one, version_log=one.version_log[:1]), "reference"),
    "a log that goes back": (
        lambda one: replace(
            one,
            version_log=(
                ViewLogEntry(one.version_log[0].timestamp_ms + 10**9, one.version_log[0].version_id),
                *one.version_log[1:],
            ),
        ),
        "history",
    ),
    "no query": (
        lambda one: replace(one, versions=tuple(replace(each, representations=()) for each in one.versions)),
        "reference",
    ),
    "two queries of a dialect": (
        lambda one: replace(
            one, versions=tuple(replace(each, representations=each.representations * 2) for each in one.versions)
        ),
        "reference",
    ),
    "a query without text": (
        lambda one: replace(
            one,
            versions=tuple(
                replace(each, representations=({"type": "sql", "sql": " ", "dialect": "spark"},))
                for each in one.versions
            ),
        ),
        "reference",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_metadata_is_told(lake: Lake, fault: str) -> None:
    made, check = FAULTS[fault]
    metadata = lake.catalog.views.load_view(V).metadata
    assert not list(view_findings(metadata, "v"))
    current(lake).write_bytes(encode_view_metadata(made(metadata)))
    found = fsck(lake)
    assert {one.finding.check.value for one in found} == {check}
    assert {one.repair for one in found} == {"CREATE OR REPLACE VIEW with its query"}
