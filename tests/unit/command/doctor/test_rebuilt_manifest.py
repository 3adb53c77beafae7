"""Lost manifests of branch heads, which other manifests and the files themselves tell, or do not."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from catalog.s3_server import S3Server
from golden_tables.relocation import unpack
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.command.doctor.answer import Repairing
from sqlext.command.doctor.rebuilt_manifest import RebuiltManifest, UntoldManifest, rebuilt_manifests
from sqlext.command.doctor.table_remains import TableRemains
from sqlext.command.maintenance.expiry import expire_snapshots
from sqlext.commit.action import Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.manifest_rewrite import RewriteManifests
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.scan.checks.table_checks import check_table
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.content_file import Content, ContentKey
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import FileIO, LocalFileIO
from unit.command.doctor.test_consultation import WAYS, fsck, head, local, small
from unit.command.lake import Lake
from unit.command.maintenance.random_history import RandomHistory

GOLDEN = Path(__file__).parents[3] / "golden_tables"
IO = LocalFileIO()


def listed(lake: Lake, content: ManifestContent | None = None) -> list[ManifestFile]:
    """The manifests of the head of main, newest first."""
    found = ManifestCache(0).manifests(lake.catalog.io, head(lake))
    return sorted((one for one in found if content in (None, one.content)), key=lambda one: -one.sequence_number)


def live(io: FileIO, metadata: TableMetadata, manifests: Sequence[ManifestFile]) -> dict[ContentKey, ManifestEntry]:
    return {one.file.key: one for one in ManifestCache(0).live_entries_of(io, manifests, metadata)}


def live_of(lake: Lake) -> dict[ContentKey, ManifestEntry]:
    return live(lake.catalog.io, lake.load().metadata, listed(lake))


def lose(lake: Lake, *manifests: ManifestFile) -> None:
    for one in manifests:
        lake.catalog.io.delete(one.path)
    lake.environment.scans.manifests.clear()


def repaired(lake: Lake, manifests: Sequence[ManifestFile]) -> list[str]:
    """What a repair says of each of the manifests."""
    answers = {one.repair for one in fsck(lake, Repairing.DAMAGE)}
    said = [part for text in sorted(answers) for part in text.split("; ")]
    return [part for one in manifests for part in said if one.path in part]


def require_each_told(lake: Lake, rows: object) -> None:
    """Loses the head's manifests one after the other: each is told, and the table has these rows then."""
    for lost in listed(lake):
        lose(lake, lost)
        (said,) = repaired(lake, [lost])
        assert "nothing lost" in said
        assert lake.rows() == rows


def known(entry: ManifestEntry) -> tuple[Any, ...]:
    """What of an entry decides which rows a scan reads."""
    file = entry.file
    return entry.sequence_number, file.content, file.partition, file.spec_id, file.record_count, file.equality_ids


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("version", [2, 3])
def test_a_lost_manifest_is_told_by_its_files(tmp_path: Path, way: Callable[[Path], None], version: int) -> None:
    lake = small(tmp_path, version)
    lake.append(id=[9], s=["y"])
    for lost in listed(lake):
        rows, entries = lake.rows(), live_of(lake)
        way(local(lost.path))
        lake.environment.scans.manifests.clear()
        (said,) = repaired(lake, [lost])
        assert "are kept" in said
        assert lake.rows() == rows
        assert {key: known(one) for key, one in live_of(lake).items()} == {k: known(e) for k, e in entries.items()}
        assert head(lake).operation == "replace"
        assert {one.finding.snapshot_id for one in fsck(lake)}.isdisjoint({head(lake).snapshot_id})
    lake.upsert(id=[1, 20], s=["q", "r"])
    assert ("q",) in {row[1:] for row in lake.rows() if row[0] == 1}


def test_format_version_1(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (s) TBLPROPERTIES ('format-version'='1')")
    for number in range(3):
        lake.append(id=[number, 9], s=["a", "b"])
    rows = lake.rows()
    require_each_told(lake, rows)


def test_random_histories(tmp_path: Path) -> None:
    """Each manifest of the head, one after the other: the rows stay, or are said to be lost. If too few are told, the
    repair has become worse."""
    told: Counter[bool] = Counter()
    for seed in range(8):
        history = RandomHistory(tmp_path / str(seed), seed)
        for _ in range(14):
            history.step()
        lake = history.lake
        for lost in listed(lake) if lake.load().metadata.current_snapshot() else ():
            if lost.path not in {one.path for one in listed(lake)}:
                continue
            rows, entries = lake.rows(), live_of(lake)
            lose(lake, lost)
            (said, *_) = repaired(lake, [lost])
            is_told = "are kept" in said
            told[is_told] += 1
            assert is_told != ("are lost, since" in said)
            if is_told:
                assert lake.rows() == rows, (seed, said)
                after = live_of(lake)
                assert after.keys() <= entries.keys()
                # Deletes that apply to nothing are removed by each repair.
                gone = [entries[key] for key in entries.keys() - after.keys()]
                assert all(one.file.content != Content.DATA for one in gone)
                assert [known(after[key])[1:] for key in after] == [known(entries[key])[1:] for key in after]
    assert told[True] >= 9 * told[False]
    assert told[True] > 20


def copied(lake: Lake, path: str, name: str) -> Path:
    """A file of the same rows beside another, as a writer that was killed leaves it."""
    made = local(path).with_name(name)
    shutil.copy(local(path), made)
    return made


OTHER = "11111111-2222-4333-8444-555555555555"


def expire_all(lake: Lake) -> None:
    """Expires what no branch or tag keeps, with its files."""
    expire_snapshots(lake.environment, "lake", lake.load(), ExpireSnapshots(older_than_ms=1 << 60))


def test_files_of_an_ancestor_before_expired_ones(tmp_path: Path) -> None:
    """A tag names one of the files, whose snapshot is an ancestor, though the ones between them have expired."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('commit.manifest.min-count-to-merge'='2')")
    lake.append(id=[1])
    lake.commit(CreateReference("first", "tag", None))
    lake.append(id=[2])
    lake.append(id=[3])
    copied(lake, lake.files()[0].file_path, f"00000-0-{OTHER}-00001.parquet")
    expire_all(lake)
    (lost,) = listed(lake)
    assert lost.existing_files_count == 2
    lose(lake, lost)
    (said,) = repaired(lake, [lost])
    assert "several sets of files" in said


def with_orphans(folder: Path, seed: int, *, alike: bool) -> RandomHistory:
    """A random history, which may expire, and files of another table beside those of the table; if they are `alike`
    with as many rows and bytes, else with more bytes."""
    history = RandomHistory(folder, seed)
    lake, rng = history.lake, history.rng
    metadata = lake.load().metadata
    partitioned = "PARTITIONED BY (bucket(4, id))" if metadata.spec().fields else ""
    lake.create(
        f"CREATE TABLE o (id BIGINT, s STRING, PRIMARY KEY (id)) {partitioned}"
        f" TBLPROPERTIES ('format-version'='{metadata.format_version}')"
    )
    for _ in range(rng.randrange(5, 18)):
        history.step()
        if rng.random() < 0.1:
            expire_all(lake)
    for _ in range(rng.choice([0, 0, 1, 2, 5])):
        texts = ["p", "q"] if alike else ["p" * rng.randrange(90, 5000), "q" * rng.randrange(90, 5000)]
        rng.choice([lake.append, lake.upsert])("o", id=rng.sample(range(12), 2), s=rng.choices(texts, k=2))
    ours, theirs = (local(lake.load(name).metadata.location) / "data" for name in ("t", "o"))
    for file in theirs.rglob("*.parquet"):
        if rng.random() < 0.8:
            (ours / file.relative_to(theirs)).parent.mkdir(exist_ok=True, parents=True)
            shutil.copy(file, ours / file.relative_to(theirs))
    if rng.random() < 0.5:
        expire_all(lake)
    return history


OF_BRANCH = re.compile(r"of branch (\w+) replaces it: (.*?)(?=; snapshot [0-9]+ of branch|$)")
ADDED_AGAIN = ", if its commit added again what had been removed"


def require_true_answers(history: RandomHistory, *, loses_file: bool) -> Counter[str]:
    """Loses some manifests of the head, and with `loses_file` a data file: each row after the repair was there before,
    unless deletes are said to be lost; what is said to be there is there, and what is not is said to be lost."""
    lake, rng = history.lake, history.rng
    lost = rng.sample(listed(lake), rng.randrange(1, min(4, len(listed(lake)) + 1)))
    rows, entries = lake.rows(), live_of(lake)
    of_manifest = {one.path: live(lake.catalog.io, lake.load().metadata, [one]) for one in lost}
    data = sorted(path for (path, _), one in entries.items() if one.file.content == Content.DATA)
    gone = rng.choice(data) if loses_file and data else None
    if gone is not None:
        local(gone).unlink()
    lose(lake, *lost)
    of_branches = {pair for one in fsck(lake, Repairing.DAMAGE) for pair in OF_BRANCH.findall(one.repair)}
    # Of branches with one head the last is named.
    texts = {text for name, text in of_branches if name == "main"} or {text for _, text in of_branches}
    said = [part for text in texts for part in text.split("; ")]
    counted = Counter(word for part in said for word in ("are kept", "are lost, since", ADDED_AGAIN) if word in part)
    if counted[ADDED_AGAIN]:
        return counted
    after = live_of(lake)
    assert after.keys() <= entries.keys(), said
    deletes_are_lost = any("deletes, whose rows are back, in" in part for part in said)
    assert deletes_are_lost or Counter(lake.rows()) <= Counter(rows), said
    assert lake.rows() == rows or any("are lost" in part for part in said), said
    for part in (one for one in said if "are kept" in one):
        told = {
            key: one for manifest in lost if manifest.path in part for key, one in of_manifest[manifest.path].items()
        }
        for key, one in told.items():
            if key in after:
                assert "nothing lost" not in part or known(after[key]) == known(one), said
                assert "nothing lost" not in part or after[key].file.first_row_id == one.file.first_row_id, said
            elif one.file.content == Content.DATA:
                assert key[0] == gone, said
                assert any(f"rows of {gone} are lost" in each for each in said), said
    return counted


@pytest.mark.parametrize("seeds", [8, pytest.param(160, marks=pytest.mark.long)])
@pytest.mark.parametrize("loses_file", [False, True])
def test_random_histories_with_orphans(tmp_path: Path, loses_file: bool, seeds: int) -> None:
    """Files of killed writers lie beside those of the table, and a data file is lost as well or not."""
    said: Counter[str] = Counter()
    for seed in range(seeds):
        history = with_orphans(tmp_path / str(seed), seed, alike=not loses_file)
        if history.lake.load().metadata.current_snapshot() and listed(history.lake):
            said += require_true_answers(history, loses_file=loses_file)
    assert said["are kept"] > 0
    assert said["are lost, since"] > 0


def test_merged_manifests_whose_history_has_expired(tmp_path: Path) -> None:
    """No other manifest names their files: the data folder alone has them."""
    lake = Lake(tmp_path)
    lake.create(
        "CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (bucket(3, id))"
        " TBLPROPERTIES ('commit.manifest.min-count-to-merge'='2')"
    )
    for number in range(5):
        lake.append(id=[number, number + 10], s=["a", "b" * number])
    rows, entries = lake.rows(), live_of(lake)
    expire_all(lake)
    (lost,) = listed(lake)
    assert lost.existing_files_count
    lose(lake, lost)
    (said,) = repaired(lake, [lost])
    assert "are kept" in said
    assert lake.rows() == rows
    assert live_of(lake).keys() == entries.keys()


def test_sequence_numbers_that_decide_and_are_not_told(tmp_path: Path) -> None:
    """An equality delete between two files of a merged manifest applies to the older one alone, and names do not tell
    which one that is."""
    lake = Lake(tmp_path)
    lake.create(
        "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id))"
        " TBLPROPERTIES ('commit.manifest.min-count-to-merge'='2', 'write.upsert.mode'='equality')"
    )
    lake.append(id=[1], s=["a"])
    lake.upsert(id=[1], s=["b"])
    lake.append(id=[2], s=["c"])
    expire_all(lake)
    (lost,) = listed(lake, ManifestContent.DATA)
    lose(lake, lost)
    (said, *_) = repaired(lake, [lost])
    assert "the sequence numbers of its files are not told" in said
    assert lake.rows() == []


def test_orphans_of_killed_writers(tmp_path: Path) -> None:
    """Of other sizes, of as many rows, of too many, unfinished, and of other tables."""
    lake = Lake(tmp_path)
    for name in ("t", "other"):
        lake.create(f"CREATE TABLE {name} (id BIGINT, s STRING)")
        lake.commit(ChangeProperties({"commit.manifest-merge.enabled": "false"}), name)
    lake.append(id=[1, 2, 3], s=["a", "b", "c"])
    lake.append(id=[4, 5], s=["d", "e" * 40])
    rows = lake.rows()
    for number in range(30):
        lake.append("other", id=list(range(number % 4 + 1)), s=["x" * number * 7] * (number % 4 + 1))
    data = local(lake.files()[0].file_path).parent
    for number, file in enumerate(lake.files("other")):
        shutil.copy(local(file.file_path), data / f"{number:05d}-0-{OTHER}-00001.parquet")
    (data / f"00000-7-{OTHER}-00009.parquet").write_bytes(b"PAR1 and no end")
    require_each_told(lake, rows)


def test_two_sets_of_files(tmp_path: Path) -> None:
    """What a repeated statement left has the same rows and bytes. Both are named, and stay."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING)")
    lake.append(id=[1, 2], s=["a", "b"])
    (file,) = lake.files()
    twin = copied(lake, file.file_path, f"00000-0-{OTHER}-00001.parquet")
    lose(lake, *listed(lake))
    (done,) = {one.repair for one in fsck(lake, Repairing.DAMAGE) if "are lost" in one.repair}
    assert "2 rows in 1 files" in done
    assert "are lost, since several sets of files have its counts" in done
    assert "CALL add_files" in done
    assert {twin.name, local(file.file_path).name} <= set(re.split("[/, ]", done))
    assert lake.rows() == []
    assert twin.exists()
    assert local(file.file_path).exists()


def test_a_lost_data_file_and_manifest(tmp_path: Path) -> None:
    """Nothing takes the place of what is gone."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING)")
    lake.append(id=[1, 2], s=["a", "b"])
    lake.append(id=[3], s=["c"])
    (old, new) = lake.files()
    local(new.file_path).unlink()
    copied(lake, old.file_path, f"00000-0-{OTHER}-00001.parquet")
    lost = listed(lake)[0]
    lose(lake, lost)
    (said,) = repaired(lake, [lost])
    assert "no files are found that have its counts" in said
    assert lake.rows() == [(1, "a"), (2, "b")]


def manifest_of(lake: Lake, path: str) -> ManifestFile:
    """The manifest of the head in which a file is live."""
    io, metadata = lake.catalog.io, lake.load().metadata
    (found,) = (one for one in listed(lake) if path in {key for key, _ in live(io, metadata, [one])})
    return found


@pytest.mark.parametrize("is_expired", [False, True])
@pytest.mark.parametrize(("version", "by_key"), [(2, False), (2, True), (3, False), (3, True)])
def test_deleted_rows_stay_deleted(tmp_path: Path, version: int, by_key: bool, is_expired: bool) -> None:
    """A file with deleted rows does not take the place of a newer one of as many rows and bytes that is gone."""
    lake = Lake(tmp_path)
    lake.create(
        "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ('commit.manifest-merge.enabled'='false',"
        f" 'write.upsert.mode'='equality', 'format-version'='{version}')"
    )
    lake.append(id=[1, 2], s=["old", "b"])
    (old,) = (file.file_path for file in lake.files())
    if by_key:
        lake.upsert(id=[1], s=["new"])
    else:
        lake.delete({old: [0]})
    lake.append(id=[3, 4], s=["c", "d"])
    new = lake.files()[-1].file_path
    if is_expired:
        expire_all(lake)
    before, lost = lake.rows(), [manifest_of(lake, old), manifest_of(lake, new)]
    local(new).unlink()
    lose(lake, *lost)
    of_old, of_new = repaired(lake, lost)
    assert "are lost, since" in of_new
    # Before they expired, the totals of the first snapshot told the old file.
    assert ("nothing lost" in of_old) != is_expired
    kept = [row for row in before if row[0] < 3]
    assert lake.rows() == ([row for row in kept if row == (1, "new")] if is_expired else kept)


@pytest.mark.parametrize("is_expired", [False, True])
def test_an_orphan_in_place_of_a_lost_file(tmp_path: Path, is_expired: bool) -> None:
    """It is not taken for it, and the totals without it do not make other files lost."""
    lake = Lake(tmp_path)
    for name in ("t", "other"):
        lake.create(f"CREATE TABLE {name} (id BIGINT, s STRING)")
    lake.append(id=[1, 2, 5], s=["a", "b", "z"])
    lake.append(id=[3, 4], s=["c", "d"])
    lake.append("other", id=[777, 888], s=["never committed" * 9, "x"])
    first, second = lake.files()
    (orphan,) = lake.files("other")
    shutil.copy(local(orphan.file_path), local(first.file_path).with_name(f"00000-0-{OTHER}-00001.parquet"))
    if is_expired:
        expire_all(lake)
    lost = [manifest_of(lake, first.file_path), manifest_of(lake, second.file_path)]
    local(second.file_path).unlink()
    lose(lake, *lost)
    of_first, of_second = repaired(lake, lost)
    assert "are lost, since" in of_second
    assert ("nothing lost" in of_first) != is_expired
    assert lake.rows() == ([] if is_expired else [(1, "a"), (2, "b"), (5, "z")])


def test_the_data_and_deletes_of_one_commit(tmp_path: Path) -> None:
    """No totals are of either alone: what the counts tell of both has the bytes of both."""
    lake = Lake(tmp_path)
    lake.create(
        "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode'='equality',"
        " 'commit.manifest-merge.enabled'='false')"
    )
    lake.append(id=[1, 2, 3], s=["a", "b", "c"])
    lake.upsert(id=[1], s=["z"])
    expire_all(lake)
    rows, manifests = lake.rows(), listed(lake)
    assert len(manifests) == 3
    lose(lake, *manifests)
    said = repaired(lake, manifests)
    assert all("nothing lost" in one for one in said)
    assert lake.rows() == rows


def test_a_file_that_is_added_again(tmp_path: Path) -> None:
    """Its removal is older than the manifest, or than what another manifest says of it."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING) TBLPROPERTIES ('commit.manifest-merge.enabled'='false')")
    lake.append(id=[1, 2], s=["a", "b"])
    (file,) = lake.files()
    lake.append(id=[9], s=["k"])
    remove(lake, 0)
    lake.commit(AppendFiles([file]))
    rows, numbers = lake.rows(), {key: one.sequence_number for key, one in live_of(lake).items()}
    for is_own in (True, False):
        lost = manifest_of(lake, file.file_path)
        lose(lake, lost)
        (said,) = repaired(lake, [lost])
        assert "nothing lost" in said
        assert (ADDED_AGAIN in said) == is_own
        assert lake.rows() == rows
        assert {key: one.sequence_number for key, one in live_of(lake).items()} == numbers
        lake.commit(RewriteManifests(0))


def test_what_is_left_may_be_of_either_of_two(tmp_path: Path) -> None:
    """Of two files of one size one is gone: the other is not told to be of the older manifest, whose bytes are told."""
    lake = unmerged(tmp_path)
    lake.append(id=[1])
    lake.append(id=[2])
    older, newer = lake.files()
    lost = [manifest_of(lake, one.file_path) for one in (older, newer)]
    local(older.file_path).unlink()
    lose(lake, *lost)
    of_older, of_newer = repaired(lake, lost)
    assert "are lost" in of_newer
    assert "what fits it may be of another lost manifest" in of_older
    assert lake.rows() == []


def test_a_removed_file_beside_one_of_its_size(tmp_path: Path) -> None:
    """It may be added again, but the newer one is surer."""
    lake = unmerged(tmp_path)
    lake.append(id=[1])
    lake.append(id=[2])
    remove(lake, 0)
    lake.append(id=[3])
    lost = listed(lake)[0]
    lose(lake, lost)
    (said,) = repaired(lake, [lost])
    assert "nothing lost" in said
    assert lake.rows() == [(2,), (3,)]


def test_a_write_of_which_a_file_is_missing(tmp_path: Path) -> None:
    """All files of a killed writer do not take the place of some of the commit's."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (truncate(1, id))")
    lake.append(id=[0, 1], s=["a", "b"])
    for number, file in enumerate(lake.files(), 1):
        copied(lake, file.file_path, f"00000-0-{OTHER}-{number:05d}.parquet")
    (gone,) = (one for one in lake.files() if one.file_path.endswith("-00001.parquet"))
    local(gone.file_path).unlink()
    (lost,) = listed(lake)
    lose(lake, lost)
    (said, *_) = repaired(lake, [lost])
    assert "are lost, since several sets of files have its counts" in said
    assert lake.rows() == []


def unmerged(folder: Path) -> Lake:
    """Each commit has a manifest of its own."""
    lake = Lake(folder)
    lake.create("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('commit.manifest-merge.enabled'='false')")
    return lake


def remove(lake: Lake, place: int) -> None:
    """Removes a data file, which stays where it is."""
    base = head(lake).snapshot_id
    lake.commit(OverwriteFiles(deleted_files=[lake.files()[place]], base_snapshot_id=base))


def test_a_twin_that_was_removed(tmp_path: Path) -> None:
    """A file that the branch has removed is no candidate, though other snapshots name it."""
    lake = unmerged(tmp_path)
    for number in range(4):
        lake.append(id=[number])
    of_last = listed(lake)[0]
    remove(lake, 1)
    lake.commit(RewriteManifests(0))
    rows, (lost,) = lake.rows(), listed(lake)
    assert (lost.existing_files_count, lost.deleted_files_count) == (3, 0)
    lose(lake, lost, of_last)
    (said,) = repaired(lake, [lost])
    assert "3 rows in 3 files" in said
    assert "are kept" in said
    assert lake.rows() == rows == [(0,), (2,), (3,)]


def test_a_twin_in_another_manifest(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (s)")
    lake.commit(ChangeProperties({"commit.manifest-merge.enabled": "false"}))
    lake.append(id=[2, 3, 3, 5], s=["a", "b", "b", "c"])
    before = listed(lake)[0]
    lake.append(id=[1], s=["a"])
    rows = [row for row in lake.rows() if row[0] != 3]
    (place,) = (place for place, file in enumerate(lake.files()) if file.record_count == 2)
    remove(lake, place)
    lost = listed(lake)[0]
    assert (lost.existing_files_count, lost.deleted_files_count) == (2, 1)
    lose(lake, lost, before)
    (said,) = repaired(lake, [lost])
    assert "are kept" in said
    assert lake.rows() == rows


def test_replaced_files_stay_replaced(tmp_path: Path) -> None:
    """Their files lie there still, and a manifest that an expired snapshot left names them."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING) TBLPROPERTIES ('commit.manifest.min-count-to-merge'='2')")
    for number in range(4):
        lake.append(id=[number, number], s=["a" * number, "b"])
    first, second, *_ = lake.files()
    base = head(lake).snapshot_id
    lake.commit(OverwriteFiles(deleted_files=[second], base_snapshot_id=base))
    lake.append(id=[9], s=["z"])
    rows = lake.rows()
    for lost in listed(lake):
        lose(lake, lost)
        repaired(lake, [lost])
        assert lake.rows() == rows
    assert second.file_path not in {key for key, _ in live_of(lake)}
    assert first.file_path in {key for key, _ in live_of(lake)}
    *before, _ = lake.load().metadata.snapshots
    lake.expire(*(one.snapshot_id for one in before))
    lost = listed(lake)[0]
    lose(lake, lost)
    repaired(lake, [lost])
    assert set(lake.rows()) <= set(rows)


@pytest.mark.parametrize("version", [2, 3])
def test_all_manifests_of_a_head(tmp_path: Path, version: int) -> None:
    lake = small(tmp_path, version)
    rows, manifests = lake.rows(), listed(lake)
    assert {one.content for one in manifests} == {ManifestContent.DATA, ManifestContent.DELETES}
    lose(lake, *manifests)
    said = repaired(lake, manifests)
    assert all("are kept" in one for one in said), said
    assert lake.rows() == rows


def test_manifests_that_are_told_together(tmp_path: Path) -> None:
    """Files of one size, of which none tells its manifest: without deletes it makes no difference."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('commit.manifest-merge.enabled'='false')")
    for number in range(4):
        lake.append(id=[number])
    rows, manifests = lake.rows(), listed(lake)
    lose(lake, *manifests[:3])
    said = repaired(lake, manifests[:3])
    assert all("3 rows in 3 files" in one for one in said)
    assert lake.rows() == rows


def test_another_branch(tmp_path: Path) -> None:
    lake = small(tmp_path)
    rows = lake.rows()
    lake.commit(CreateReference("b", "branch", None))
    lake.append("t", "branch_b", id=[9], s=["y"])
    metadata = lake.load().metadata
    of_branch = metadata.snapshot(metadata.refs["b"].snapshot_id)
    lost = ManifestCache(0).manifests(IO, of_branch)[0]
    before = live(IO, metadata, ManifestCache(0).manifests(IO, of_branch))
    lose(lake, lost)
    (said,) = repaired(lake, [lost])
    assert "nothing lost" in said
    metadata = lake.load().metadata
    after = ManifestCache(0).manifests(IO, metadata.snapshot(metadata.refs["b"].snapshot_id))
    assert live(IO, metadata, after).keys() == before.keys()
    assert lake.rows() == rows
    lake.commit(RewriteManifests(0), destination=Destination("b"))


def test_row_ids(tmp_path: Path) -> None:
    """Of one file they are known, of several of a write without partitions by their numbers, else they are new."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (s) TBLPROPERTIES ('format-version'='3')")
    lake.append(id=[1, 2], s=["a", "a"])
    lake.append(id=[3, 4], s=["b", "c"])
    ids = {key: one.file.first_row_id for key, one in live_of(lake).items()}
    several, one = listed(lake)
    for lost, text in ((one, "with nothing lost"), (several, "new are the ids of some of these rows")):
        lose(lake, lost)
        (said,) = repaired(lake, [lost])
        assert text in said
    after = {key: entry.file.first_row_id for key, entry in live_of(lake).items()}
    assert after.keys() == ids.keys()
    assert [after[key] for key in ids if ids[key] == 0] == [0]
    assert len(set(after.values())) == 3
    assert min(id for key, id in after.items() if ids[key] != 0) >= 4


def test_data_elsewhere(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "w")
    lake.create(
        f"CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.data.path'='{tmp_path}/w/else',"
        " 'write.object-storage.enabled'='true')"
    )
    lake.append(id=[1, 2], s=["a", "b"])
    lake.upsert(id=[1], s=["z"])
    lake.delete({lake.files()[0].file_path: [1]})
    rows = lake.rows()
    require_each_told(lake, rows)


def test_many_files_and_orphans(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (truncate(1, id))")
    lake.append(id=list(range(150)), s=["a"] * 150)
    lake.append(id=[1, 2], s=["b" * 50, "c" * 60])
    rows = lake.rows()
    for number, file in enumerate(lake.files()[:40]):
        copied(lake, file.file_path, f"00000-{number}-{OTHER}-00001.parquet")
    for lost in listed(lake):
        lose(lake, lost)
        (said,) = repaired(lake, [lost])
        assert "are kept" in said, said
        assert lake.rows() == rows


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


@pytest.mark.parametrize("version", [2, 3])
def test_object_stores(tmp_path: Path, s3: S3Server, version: int) -> None:
    uri = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db"}
    catalog = open_catalog("lake", {"warehouse": f"s3://{s3.new_bucket()}/w", **uri, **s3.settings()})
    lake = Lake(tmp_path, catalog=catalog)
    lake.create(
        "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) PARTITIONED BY (bucket(2, id))"
        f" TBLPROPERTIES ('format-version'='{version}', 'write.upsert.mode'='equality')"
    )
    lake.append(id=[1, 2, 3, 4], s=["a", "b", "c", "d"])
    lake.upsert(id=[1], s=["z"])
    before, manifests = live_of(lake), listed(lake)
    for lost in manifests:
        lose(lake, lost)
        (said,) = repaired(lake, [lost])
        assert "are kept" in said
    assert {key: known(one) for key, one in live_of(lake).items()} == {key: known(one) for key, one in before.items()}


# tables of others


def metadata_at(location: str) -> TableMetadata:
    return decode_table_metadata(local(location).read_bytes(), location)


def told_of(location: str) -> Iterator[tuple[ManifestFile, Mapping[ContentKey, ManifestEntry] | None]]:
    """For each manifest of the current snapshot what is told of it if it alone is lost, with a check that this is true;
    None if it is not told."""
    metadata = metadata_at(location)
    current = metadata.current_snapshot()
    assert current is not None
    manifests = ManifestCache(0).manifests(IO, current)
    for lost in manifests:
        entries = live(IO, metadata, [lost])
        hidden = local(lost.path).rename(local(lost.path).with_suffix(".hidden"))
        wrong_totals = check_table(IO, metadata, location).wrong_totals
        remains = TableRemains(IO, metadata, {lost.path})
        (answer,) = rebuilt_manifests(remains, metadata, current, manifests, {lost.path}, wrong_totals)
        hidden.rename(local(lost.path))
        if not isinstance(answer, RebuiltManifest):
            yield lost, None
            continue
        told = {one.file.key: one for one in answer.entries}
        assert {key: known(one) for key, one in told.items()} == {key: known(one) for key, one in entries.items()}
        assert [told[key].snapshot_id for key in told] == [entries[key].snapshot_id for key in told]
        if answer.keeps_row_ids:
            assert [told[key].file.first_row_id for key in told] == [entries[key].file.first_row_id for key in told]
        yield lost, told


def test_tables_of_iceberg_and_flink(tmp_path: Path) -> None:
    """Not told is what removed one of two files of the same rows, ORC files in partitions, and files that no other
    manifest names where totals are wrong, as these tables have been moved."""
    told = dict[str, list[bool]]()
    for name in ("golden_dev", "golden_flink_dev"):
        for folder in sorted(one for one in unpack(GOLDEN / f"{name}.zip", tmp_path / name).iterdir() if one.is_dir()):
            location = json.loads((folder / "expected.json").read_text())["metadata"]
            told[folder.name[:3]] = [entries is not None for _, entries in told_of(location)]
    whole = {name for name, each in told.items() if all(each)}
    assert {"d01", "d03", "d04", "d05", "d06", "d09", "d10", "d13", "f01", "f06", "f07"} <= whole
    assert sum(map(sum, told.values())) >= 56


def test_totals_of_all_that_is_told(tmp_path: Path) -> None:
    """A file of the right name and rows that another one has replaced: the totals of the head prove it wrong."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("n")
    first, second, other = (pa.table({"s": [text] * rows}) for text, rows in (("a", 3), ("b", 2), ("c" * 99, 2)))
    table = catalog.create_table("n.t", first.schema)
    table.append(first)
    table.append(second)
    metadata = metadata_at(table.metadata_location)
    current = metadata.current_snapshot()
    assert current is not None
    manifests = ManifestCache(0).manifests(IO, current)
    newest = max(manifests, key=lambda one: one.sequence_number)
    ((path, _),) = live(IO, metadata, [newest])
    lost = {one.path for one in manifests}
    for is_replaced in (False, True):
        if is_replaced:
            pq.write_table(other.cast(pq.read_schema(local(path))), local(path))
        answers = rebuilt_manifests(TableRemains(IO, metadata, lost), metadata, current, manifests, lost, ())
        reasons = [one.reason for one in answers if isinstance(one, UntoldManifest)]
        assert len(reasons) == (2 if is_replaced else 0)
        assert all("other totals than its summary" in one for one in reasons)


@pytest.mark.parametrize("version", [1, 2])
def test_tables_of_pyiceberg(tmp_path: Path, version: int) -> None:
    """Its files have the commit's id in their names, as the manifest has, which tells them from twins."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("n")
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "s": ["a", "b"]})
    table = catalog.create_table("n.t", rows.schema, properties={"format-version": str(version)})
    table.append(rows)
    table.append(rows)
    table.delete("id = 2")
    table.append(rows)
    answers = list(told_of(table.metadata_location))
    assert len(answers) >= 2
    assert [lost.path for lost, entries in answers if entries is None] == []
