"""What is deleted: files that are the table's own, whatever its metadata, its log or a link says."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.made_tables import create, land
from catalog.s3_server import S3Server
from security.conftest import SECRET_TEXT, Place
from small_tables import Clock, data_file
from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.commit.action import Destination
from sqlext.commit.actions.add_files import AddFiles
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.cherry_pick import CherryPick
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.loop.transaction import commit
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.metadata.table_metadata import decode_table_metadata, encode_table_metadata
from sqlext.storage.location import to_local_path

DB = ("db",)
OWN, VICTIM = TableIdentifier(DB, "own"), TableIdentifier(DB, "victim")
MAPPING = '[{"field-id":1,"names":["id"]},{"field-id":2,"names":["region"]}]'


def opened(place: Place, **options: str) -> Catalog:
    catalog = place.open(**options)
    catalog.create_namespace(DB, {})
    return catalog


def with_rows(catalog: Catalog, identifier: TableIdentifier, **given: Any) -> LoadedTable:
    table = create(catalog, identifier, **given)
    return land(catalog, AppendFiles((data_file(table.metadata, [1]),)), identifier, table)


def naming(catalog: Catalog, table: LoadedTable, *paths: str | Path) -> LoadedTable:
    """The table with files that somebody else's hand has put into it."""
    files = [ContentFile(Content.DATA, f"file://{path}", "PARQUET", 0, (), 1, 9) for path in paths]
    return land(catalog, AppendFiles(files, owned=False), table.identifier, table)


def files_of(table: LoadedTable) -> set[Path]:
    return {path for path in Path(to_local_path(table.metadata.location)).rglob("*") if path.is_file()}


def rewritten(table: LoadedTable, **changes: Any) -> None:
    """The current metadata file with other things in it, as whoever may write to the warehouse could put there."""
    path = Path(to_local_path(table.metadata_location))
    metadata = decode_table_metadata(path.read_bytes(), str(path))
    path.write_bytes(encode_table_metadata(replace(metadata, **changes)))


def test_a_purge_takes_no_file_that_the_table_does_not_own(place: Place) -> None:
    catalog, others = opened(place), place.others()
    victim = with_rows(catalog, VICTIM)
    kept = files_of(victim)
    stray = place.warehouse / "stray.parquet"
    stray.write_bytes(SECRET_TEXT)
    table = with_rows(catalog, OWN)
    folder = Path(to_local_path(table.metadata.location))
    around = [f"{folder}/../../../outside/a.parquet", f"{folder}/data/../../victim/metadata/version-hint.text"]
    naming(catalog, table, place.outside / "a.parquet", stray, *kept, *around)
    assert catalog.drop_table(OWN, purge=True)
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert place.others() == others
    assert stray.exists()
    assert files_of(victim) == kept
    assert catalog.load_table(VICTIM).metadata == victim.metadata


@pytest.mark.parametrize("root", ["/", "{folder}", "{warehouse}", "{victim}"])
def test_a_purge_believes_no_folder_that_metadata_claims(place: Place, root: str) -> None:
    """`write.data.path` is in the hands of whoever may change the table."""
    catalog, others = opened(place), place.others()
    victim = with_rows(catalog, VICTIM)
    kept = files_of(victim)
    table = naming(catalog, with_rows(catalog, OWN), place.outside / "a.parquet", *kept)
    claimed = root.format(
        folder=place.folder, warehouse=place.warehouse, victim=to_local_path(victim.metadata.location)
    )
    land(catalog, ChangeProperties({"write.data.path": f"file://{claimed}"}), OWN, table)
    if claimed.startswith(str(place.warehouse)):
        catalog.drop_table(OWN, purge=True)
    else:
        with pytest.raises(UnsupportedError, match=r"outside of the warehouse.*Leave PURGE out"):
            catalog.drop_table(OWN, purge=True)
        assert catalog.table_exists(OWN)
    assert place.others() == others
    assert files_of(victim) == kept
    assert catalog.load_table(VICTIM).metadata == victim.metadata


def test_a_purge_takes_the_tables_files_where_the_settings_let_it(place: Place) -> None:
    data = place.outside / "data"
    catalog = opened(place, allowed_locations=str(place.outside))
    table = with_rows(catalog, OWN, properties={"write.data.path": f"file://{data}"})
    naming(catalog, table, place.outside / "a.parquet")
    assert len(list(data.iterdir())) == 1
    assert catalog.drop_table(OWN, purge=True)
    assert list(data.iterdir()) == []
    assert (place.outside / "a.parquet").read_bytes() == SECRET_TEXT


def test_a_namespace_that_goes_leaves_what_is_not_its_tables(place: Place) -> None:
    catalog, others = opened(place), place.others()
    naming(catalog, with_rows(catalog, OWN), place.outside / "a.parquet")
    elsewhere = with_rows(catalog, VICTIM, properties={"write.data.path": f"file://{place.outside}/data"})
    written = {str(path): path.read_bytes() for path in (place.outside / "data").iterdir()}
    assert elsewhere.metadata.properties["write.data.path"]
    assert catalog.drop_namespace(DB, cascade=True)
    assert place.others() == others | written


def test_a_link_in_a_tables_folder_takes_no_file_behind_it(place: Place) -> None:
    catalog, others = opened(place), place.others()
    table = with_rows(catalog, OWN)
    folder = Path(to_local_path(table.metadata.location))
    (folder / "link").symlink_to(place.outside)
    (folder / "one.parquet").symlink_to(place.outside / "a.parquet")
    naming(catalog, table, folder / "link/a.parquet", folder / "one.parquet")
    catalog.drop_table(OWN, purge=True)
    assert place.others() == others


@pytest.mark.parametrize("linked", ["data", "metadata"])
def test_nothing_is_written_through_a_link_out_of_the_warehouse(place: Place, linked: str) -> None:
    catalog = opened(place)
    table = with_rows(catalog, OWN)
    folder = Path(to_local_path(table.metadata.location))
    away = place.folder / "away"
    shutil.move(folder / linked, away)
    (folder / linked).symlink_to(away)
    others = place.others()
    with pytest.raises(AnalysisError) as raised:
        catalog.io.create(f"{table.metadata.location}/{linked}/x", b"")
    assert raised.value.condition == "LOCATION_NOT_ALLOWED"
    for change in (catalog.io.open_output, catalog.io.delete):
        with pytest.raises(AnalysisError):
            change(f"{table.metadata.location}/{linked}/{os.listdir(away)[0]}")
    if linked == "metadata":
        with pytest.raises(AnalysisError):
            land(catalog, ChangeProperties({"a": "1"}), OWN, table)
    assert place.others() == others


@pytest.mark.parametrize("linked", ["db", "db/own"])
def test_a_linked_folder_in_the_place_of_a_name_is_refused(place: Place, linked: str) -> None:
    catalog = opened(place)
    link = place.warehouse / linked
    shutil.rmtree(link, ignore_errors=True)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(place.outside)
    others = place.others()
    with pytest.raises(AnalysisError) as raised:
        create(catalog, OWN)
    assert raised.value.condition == "PATH_OUTSIDE_WAREHOUSE"
    assert place.others() == others


def test_what_leaves_the_log_is_deleted_only_if_it_is_metadata_of_the_table(place: Place) -> None:
    """A log that names any file, of a table that claims the folder of all and asks for old metadata to be deleted."""
    catalog, others = opened(place), place.others()
    victim = with_rows(catalog, VICTIM)
    kept = files_of(victim)
    asked = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    table = with_rows(catalog, OWN, properties=asked)
    (entry,) = table.metadata.metadata_log
    data = next(path for path in files_of(table) if path.suffix == ".parquet")
    claimed = [place.outside / "metadata/v1.metadata.json", place.outside / "a.parquet", *kept, data]
    log = [replace(entry, metadata_file=f"file://{path}") for path in claimed]
    if place.kind == "folders":
        rewritten(table, metadata_log=(*log, entry))
    else:
        path = table.metadata_location.rpartition("/")[0]
        properties = {**asked, "write.metadata.path": path}
        location = f"file://{place.folder}"
        rewritten(table, metadata_log=(*log, entry), location=location, properties=properties)
    land(catalog, ChangeProperties({"a": "1"}), OWN, catalog.load_table(OWN))
    assert not Path(to_local_path(entry.metadata_file)).exists()
    assert place.others() == others
    assert files_of(victim) == kept
    assert data.exists()


def test_files_that_were_added_in_place_outlive_a_rollback(place: Place) -> None:
    """They are somebody else's, whether the transaction or its COMMIT ends them."""
    catalog = opened(place)
    table = with_rows(catalog, OWN)
    foreign = place.outside / "b.parquet"
    foreign.write_bytes(b"rows of somebody else")
    file = ContentFile(Content.DATA, f"file://{foreign}", "PARQUET", 0, (), 1, 21)
    before = files_of(table)
    transaction = OpenTransaction("t", lambda location, metadata: None)
    inside = transaction.catalog(catalog)
    land(inside, AddFiles([file], 0, MAPPING), OWN, inside.load_table(OWN))
    transaction.roll_back()
    assert foreign.exists()
    assert files_of(table) == before


def test_files_of_a_staged_snapshot_outlive_the_rollback_of_its_publication(place: Place) -> None:
    catalog = opened(place)
    table = with_rows(catalog, OWN)
    staged = AppendFiles((data_file(table.metadata, [2]),))
    clock, rng = Clock(), random.Random(7)
    commit(catalog, OWN, staged, base=table, destination=Destination(wap_id="audit"), clock=clock, rng=rng)
    table = catalog.load_table(OWN)
    table = land(catalog, AppendFiles((data_file(table.metadata, [3]),)), OWN, table)
    before = files_of(table)
    transaction = OpenTransaction("t", lambda location, metadata: None)
    inside = transaction.catalog(catalog)
    land(inside, CherryPick(wap_id="audit"), OWN, inside.load_table(OWN))
    transaction.roll_back()
    assert files_of(table) == before


def test_a_purge_in_s3_takes_no_object_of_others(s3: S3Server) -> None:
    bucket = s3.new_bucket()
    catalog = open_catalog("lake", {"warehouse": f"s3://{bucket}/w", **s3.settings()})
    catalog.create_namespace(DB, {})
    victim = create(catalog, VICTIM)
    for key in ("other/a.parquet", "w/stray.parquet"):
        s3.client.put_object(Bucket=bucket, Key=key, Body=SECRET_TEXT)
    named = [f"s3://{bucket}/other/a.parquet", f"s3a://{bucket}/w/stray.parquet", victim.metadata_location]
    files = [ContentFile(Content.DATA, path, "PARQUET", 0, (), 1, 9) for path in named]
    land(catalog, AppendFiles(files, owned=False), OWN, create(catalog, OWN))
    assert catalog.drop_table(OWN, purge=True)
    left = [key for key in s3.keys(bucket) if not key.endswith(".sqlext-folder")]
    assert {"other/a.parquet", "w/stray.parquet"} < set(left)
    assert not [key for key in left if "/own/" in key]
    assert catalog.load_table(VICTIM).metadata == victim.metadata
