"""Every codec of data files and of table metadata, written by one engine and read by the others."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from judges.judged import Judged

ROWS = "SELECT id, concat('text ', id % 7) AS s FROM range(1000)"


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "uncompressed"])
def test_parquet_of_both_engines(judged: Judged, codec: str) -> None:
    judged.spark.sql(
        f"CREATE TABLE {judged.table} (id BIGINT, s STRING) TBLPROPERTIES ('write.parquet.compression-codec'='{codec}')"
    )
    judged.run(f"INSERT INTO {{table}} {ROWS}")
    assert _newest_codec(judged) == codec.upper()
    if codec != "lz4":  # which Iceberg's runtime reads, but has no compressor of
        judged.run_in_iceberg(f"INSERT INTO {{table}} {ROWS}")
        assert _newest_codec(judged) == codec.upper()


def test_a_level_and_a_codec_that_nobody_could_read(judged: Judged) -> None:
    spark, t = judged.spark, judged.table
    spark.sql(f"CREATE TABLE {t} (id BIGINT, s STRING) TBLPROPERTIES ('write.parquet.compression-level'='9')")
    judged.run(f"INSERT INTO {{table}} {ROWS}")
    with pytest.raises(Exception, match=r"compression-codec = brotli is refused"):
        spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('write.parquet.compression-codec'='brotli')")
    judged.iceberg.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('write.parquet.compression-codec'='brotli')")
    with pytest.raises(Exception, match=r"compression-codec = brotli is refused"):
        spark.sql(f"INSERT INTO {t} {ROWS}")


def _newest_codec(judged: Judged) -> str:
    folder = judged.warehouse.joinpath(*judged.table.split(".")[1:], "data")
    newest = max(folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    return str(pq.read_metadata(newest).row_group(0).column(0).compression)


@pytest.mark.parametrize(
    ("file_format", "codecs"),
    [("orc", ["zlib", "snappy", "lz4", "zstd", "none"]), ("avro", ["gzip", "snappy", "zstd", "uncompressed"])],
)
def test_other_formats_of_iceberg(judged: Judged, file_format: str, codecs: list[str]) -> None:
    judged.iceberg.sql(
        f"CREATE TABLE {judged.table} (id BIGINT, s STRING) USING iceberg"
        f" TBLPROPERTIES ('write.format.default'='{file_format}')"
    )
    for codec in codecs:
        name = f"write.{file_format}.compression-codec"
        judged.iceberg.sql(f"ALTER TABLE {judged.table} SET TBLPROPERTIES ('{name}'='{codec}')")
        judged.iceberg.sql(f"INSERT INTO {judged.table} {ROWS}")
    assert judged.spark.sql(f"SELECT id FROM {judged.table} WHERE s = 'text 3'").count() == 143 * len(codecs)


def test_gzip_metadata(judged: Judged) -> None:
    """Both engines go on from each other's files, and from the older spelling of their names."""
    spark, t = judged.spark, judged.table
    spark.sql(f"CREATE TABLE {t} (id INT) TBLPROPERTIES ('write.metadata.compression-codec'='gzip')")
    judged.run("INSERT INTO {table} VALUES (1)")
    judged.run_in_iceberg("INSERT INTO {table} VALUES (2)")
    judged.run("INSERT INTO {table} VALUES (3)")
    folder = judged.warehouse.joinpath(*t.split(".")[1:], "metadata")
    names = sorted(path.name for path in folder.glob("v*"))
    assert names == ["v1.metadata.json", *(f"v{n}.gz.metadata.json" for n in (2, 3, 4)), "version-hint.text"]
    assert json.loads(gzip.decompress((folder / names[3]).read_bytes()))["format-version"] == 2
    (folder / "v4.gz.metadata.json").rename(folder / "v4.metadata.json.gz")
    assert judged.count() == 3
    assert spark.read.format("sqlext").load(str(folder / "v4.metadata.json.gz")).count() == 3
    judged.run("INSERT INTO {table} VALUES (4)")
    (folder / "version-hint.text").unlink()
    assert judged.count() == 4
    judged.run("ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.compression-codec'='none')")
    assert (folder / "v6.gz.metadata.json").exists()
    judged.run_in_iceberg("INSERT INTO {table} VALUES (5)")
    (row,) = spark.sql(f"CALL lake.system.register_table('{t}_copy', '{folder}/v5.gz.metadata.json')").collect()
    assert row.total_records_count == 4


def test_names_of_other_catalogs(judged: Judged, tmp_path: Path) -> None:
    """The newest of numbered names, gzipped or not, where there is no hint."""
    spark, t = judged.spark, judged.table
    judged.iceberg.sql(f"CREATE TABLE {t} (id INT) USING iceberg")
    for id in (1, 2):
        judged.iceberg.sql(f"INSERT INTO {t} VALUES ({id})")
    folder = judged.warehouse.joinpath(*t.split(".")[1:], "metadata")
    other = tmp_path / "other"
    (other / "metadata").mkdir(parents=True)
    shutil.copy(folder / "v2.metadata.json", other / "metadata" / "00001-0a.metadata.json")
    assert spark.read.format("sqlext").load(str(other)).count() == 1
    newest = gzip.compress((folder / "v3.metadata.json").read_bytes())
    (other / "metadata" / "00010-0b.gz.metadata.json").write_bytes(newest)
    assert spark.read.format("sqlext").load(str(other)).count() == 2
