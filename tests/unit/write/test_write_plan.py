from __future__ import annotations

import pickle

import pytest

from sqlext.errors import AnalysisError
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.write.write_plan import WritePlan
from unit.write.write_tables import metadata_with


def metadata(**properties: str) -> TableMetadata:
    return metadata_with(properties)


def test_defaults_are_icebergs() -> None:
    plan = WritePlan.from_metadata(metadata(), "op", "lake.db.t")
    assert plan.data_location == "file:///w/db/t/data"
    assert plan.target_file_size == 512 * 1024 * 1024
    assert plan.row_group_size == 128 * 1024 * 1024
    assert plan.compression == "zstd"
    assert plan.identifier_field_ids == (1,)
    assert plan.file_location(0, (), "f") == "file:///w/db/t/data/f"


def test_properties_of_the_table_count() -> None:
    plan = WritePlan.from_metadata(
        metadata(**{"write.target-file-size-bytes": "1000", "write.data.path": "/e/"}), "o", "t"
    )
    assert (plan.target_file_size, plan.data_location) == (1_000, "/e")


@pytest.mark.parametrize(
    ("codec", "level", "expected"), [("zstd", "22", 22), ("gzip", "-1", None), ("snappy", "40", None), ("gzip", "9", 9)]
)
def test_a_compression_level_is_the_codecs(codec: str, level: str, expected: int | None) -> None:
    given = {"write.parquet.compression-codec": codec, "write.parquet.compression-level": level}
    assert WritePlan.from_metadata(metadata(**given), "o", "t").compression_level == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("write.target-file-size-bytes", "big"),
        ("write.parquet.compression-level", "23"),
        ("write.format.default", "orc"),
        ("write.delete.format.default", "avro"),
        ("write.location-provider.impl", "org.example.Locations"),
        ("write.object-storage.path", "/x"),
        ("write.folder-storage.path", "/x"),
        ("encryption.key-id", "k"),
        ("write.object-storage.enabled", "perhaps"),
        ("write.delete.granularity", "row"),
    ],
)
def test_what_a_write_would_not_honour_is_refused(name: str, value: str) -> None:
    with pytest.raises(AnalysisError, match=name) as refused:
        WritePlan.from_metadata(metadata(**{name: value}), "op", "lake.db.t")
    assert refused.value.condition == "INVALID_TABLE_PROPERTY"


def test_a_plan_survives_its_journey() -> None:
    plan = WritePlan.from_metadata(metadata(), "op", "lake.db.t")
    assert pickle.loads(pickle.dumps(plan)) == plan
