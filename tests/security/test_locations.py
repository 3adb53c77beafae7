"""Locations in metadata: read and written as the catalog's settings allow, and never by a scheme that is not known."""

from __future__ import annotations

import pickle
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.made_tables import create, land
from catalog.s3_server import S3Server
from security.conftest import SECRET_TEXT, Place
from small_tables import data_file
from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.registration import RegisterTable
from sqlext.errors import AnalysisError, SqlextError, UnsupportedError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.files.readable_files import require_allowed
from sqlext.scan.scan_plan import plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.metadata.table_metadata import encode_table_metadata
from sqlext.storage.allowed_locations import AllowedLocations
from sqlext.storage.file_io import FileIO
from sqlext.storage.scheme_io import SchemeIO

OWN = TableIdentifier(("db",), "own")
ELSEWHERE = ("/etc/passwd", "file:///etc/passwd", "file:/etc/../etc/passwd", "s3://bucket/key", "s3a://bucket/key")
NO_FILES = (
    "http://127.0.0.1/x", "https://example.org/x", "ftp://host/x", "hdfs://host/x", "jar:file:/x!/y", "file://host/x",
    "gopher://x", "data:,x", "x", "../x", "/x\0y",
)  # fmt: skip


def opened(place: Place, **options: str) -> Catalog:
    catalog = place.open(**options)
    catalog.create_namespace(("db",), {})
    return catalog


def foreign(catalog: Catalog, *paths: str) -> LoadedTable:
    """A table whose manifests name files that somebody else has chosen."""
    files = [ContentFile(Content.DATA, path, "PARQUET", 0, (), 1, 9) for path in paths]
    return land(catalog, AppendFiles(files, owned=False), OWN, create(catalog, OWN))


def planned(catalog: Catalog) -> None:
    """What a scan does before an engine opens the files."""
    metadata = catalog.load_table(OWN).metadata
    plan = plan_scan(catalog.io, metadata, metadata.current_snapshot(), AlwaysTrue(), manifests=ManifestCache())
    assert plan.tasks
    require_allowed(catalog.io, [task.file for task in plan.tasks])


@pytest.mark.parametrize("location", NO_FILES)
def test_only_files_and_objects_are_opened(place: Place, location: str) -> None:
    """By Spark too: its readers would speak HTTP."""
    catalog = opened(place)
    for ask in (catalog.io.read, catalog.io.open_input, catalog.io.delete, catalog.io.open_output):
        with pytest.raises((UnsupportedError, AnalysisError)) as raised:
            ask(location)
        assert raised.value.condition in ("UNSUPPORTED_LOCATION", "INVALID_LOCATION")
    foreign(catalog, location)
    with pytest.raises((UnsupportedError, AnalysisError)):
        planned(catalog)


@pytest.mark.parametrize(
    "location", [*ELSEWHERE, "{warehouse}/../x", "{warehouse}x/y", "{link}/a.parquet", "/{link}/a.parquet"]
)
def test_a_confined_catalog_opens_nothing_elsewhere(place: Place, location: str) -> None:
    catalog = opened(place, allowed_locations=str(place.folder / "etc"))
    link = place.warehouse / "link"
    link.symlink_to(place.outside)
    location = location.format(warehouse=place.warehouse, link=link)
    others = place.others()
    asked = [catalog.io.read, catalog.io.size, catalog.io.open_input, catalog.io.exists, catalog.io.delete]
    for ask in [*asked, catalog.io.open_output, lambda path: catalog.io.create(path, b""), catalog.io.require_readable]:
        with pytest.raises(AnalysisError, match="LOCATION_NOT_ALLOWED"):
            ask(location)
    foreign(catalog, location)
    with pytest.raises(AnalysisError, match=r"LOCATION_NOT_ALLOWED.*allowed-locations"):
        planned(catalog)
    assert place.others() == others


def test_a_confined_catalog_reads_what_its_settings_name(place: Place) -> None:
    catalog = opened(place, allowed_locations=f" {place.folder}/etc , file://{place.outside},")
    foreign(catalog, str(place.outside / "a.parquet"), f"file:{place.folder}/etc/passwd", str(place.warehouse / "x"))
    planned(catalog)
    assert catalog.io.read(f"{place.outside}/a.parquet") == SECRET_TEXT
    with pytest.raises(AnalysisError, match="LOCATION_NOT_ALLOWED"):
        catalog.io.read(f"{place.folder}/x")


def test_executors_are_confined_as_the_driver_is(place: Place) -> None:
    io: FileIO = pickle.loads(pickle.dumps(opened(place, allowed_locations="").io))
    with pytest.raises(AnalysisError, match="LOCATION_NOT_ALLOWED"):
        io.read(str(place.outside / "a.parquet"))


@pytest.mark.parametrize("property_name", ["write.data.path", "write.metadata.path"])
def test_a_confined_table_writes_nowhere_else(place: Place, property_name: str) -> None:
    catalog, others = opened(place, allowed_locations=""), place.others()
    with suppress(SqlextError):
        table = create(catalog, OWN, properties={property_name: f"file://{place.outside}"})
        with pytest.raises(AnalysisError, match="LOCATION_NOT_ALLOWED"):
            catalog.io.open_output(f"{place.outside}/new.parquet")
        assert table.metadata_location.startswith(f"file://{place.warehouse}/")
    assert place.others() == others


def test_foreign_metadata_is_not_registered_from_elsewhere(place: Place) -> None:
    source = open_catalog("source", {"warehouse": str(place.folder / "theirs")})
    source.create_namespace(("db",), {})
    table = create(source, OWN)
    table = land(source, AppendFiles((data_file(table.metadata, [1]),)), OWN, table)
    catalog = opened(place, allowed_locations="")
    if place.kind == "database":
        with pytest.raises(AnalysisError, match="LOCATION_NOT_ALLOWED"):
            catalog.register_table(OWN, table.metadata_location)
    inside = replace(table.metadata, location=catalog.default_table_location(OWN), metadata_log=())
    land(catalog, RegisterTable(inside), OWN)
    with pytest.raises(AnalysisError, match="LOCATION_NOT_ALLOWED"):
        planned(catalog)


def test_a_statistics_file_or_a_log_entry_elsewhere_is_only_a_name(place: Place) -> None:
    """Loading a table reads its current metadata file and nothing that this one names."""
    catalog = opened(place)
    table = create(catalog, OWN)
    path = Path(table.metadata_location.removeprefix("file://"))
    strange = [{"snapshot-id": 1, "statistics-path": "http://127.0.0.1:1/x", "file-size-in-bytes": 1,
                "file-footer-size-in-bytes": 1, "blob-metadata": []}]  # fmt: skip
    path.write_bytes(encode_table_metadata(replace(table.metadata, statistics=tuple(strange))))
    assert catalog.load_table(OWN).metadata.statistics
    assert catalog.drop_table(OWN, purge=True)


def test_a_setting_that_names_no_folder_is_refused(place: Place) -> None:
    for text in ("relative/folder", "hdfs://host/x"):
        with pytest.raises(AnalysisError) as raised:
            place.open(allowed_locations=text)
        assert raised.value.condition == "CATALOG_OPTION_INVALID"


def test_objects_of_other_folders_and_buckets(s3: S3Server) -> None:
    bucket, other = s3.new_bucket(), s3.new_bucket()
    for name, key in ((bucket, "w2/x"), (other, "w/x"), (bucket, "shared/x")):
        s3.client.put_object(Bucket=name, Key=key, Body=SECRET_TEXT)
    settings = {"warehouse": f"s3://{bucket}/w", "allowed-locations": f"s3://{bucket}/shared", **s3.settings()}
    io = open_catalog("lake", settings).io
    assert io.read(f"s3a://{bucket}/shared/x") == SECRET_TEXT
    for location in (f"s3://{bucket}/w2/x", f"s3://{other}/w/x", f"s3://{bucket}/w/../w2/x", "/etc/passwd"):
        with pytest.raises(AnalysisError, match=r"LOCATION_NOT_ALLOWED"):
            io.read(location)
    assert SchemeIO(allowed=AllowedLocations((f"s3://{bucket}/w",))).allowed.owns(f"s3n://{bucket}/w/x")
