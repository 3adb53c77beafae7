"""Tables made for tests: their columns, and their rows in each form."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sqlext.errors import DataError
from sqlext.local import LocalCatalog
from sqlext.testing import TemporaryCatalog, assert_tables_equal, make_table

COLUMNS = "id BIGINT, buyer STRING, paid DECIMAL(9, 2), at TIMESTAMP"
AT = datetime(2026, 1, 31, 12, 30, tzinfo=timezone.utc)


@pytest.fixture(params=["folder", "sqlite"])
def lake(tmp_path: Path, request: pytest.FixtureRequest) -> LocalCatalog:
    return TemporaryCatalog.within(tmp_path, kind=request.param).open()


def test_rows_as_csv(lake: LocalCatalog) -> None:
    rows = """
        id,buyer,paid,at
        1,"Ada, née Byron",19.90,2026-01-31 12:30:00Z

        2,,5,
        3,"",,2026-01-31T13:30:00+01:00
    """
    table = make_table(lake, COLUMNS, name="db.orders", key="id", rows=rows)
    assert_tables_equal(
        table,
        [
            {"id": 1, "buyer": "Ada, née Byron", "paid": Decimal("19.9"), "at": AT},
            {"id": 2, "buyer": None, "paid": 5, "at": None},
            {"id": 3, "buyer": "", "paid": None, "at": AT},
        ],
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("id,seller\n1,Ada", "no column seller"),
        ("id\none", "does not fit the columns"),
        ("id,buyer\n1", "does not fit the columns"),
        ("", "no line of column names"),
    ],
)
def test_csv_that_does_not_fit(lake: LocalCatalog, rows: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_table(lake, COLUMNS, name="db.orders", rows=rows)


def test_rows_in_other_forms(lake: LocalCatalog) -> None:
    arrow = pa.table({"id": [1, 2], "buyer": ["a", None]})
    forms = (arrow, pl.from_arrow(arrow), pd.DataFrame({"id": [1, 2], "buyer": ["a", None]}), arrow.to_batches()[0])
    for number, rows in enumerate((*forms, [{"id": 1, "buyer": "a"}, {"id": 2}])):
        table = make_table(lake, "id BIGINT, buyer STRING", name=f"db.t{number}", rows=rows)
        assert table.key == ()
        assert_tables_equal(table, [{"id": 1, "buyer": "a"}, {"id": 2, "buyer": None}], key="id")


def test_an_arrow_schema_properties_and_partitions(lake: LocalCatalog) -> None:
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("day", pa.date32())])
    table = make_table(
        lake,
        schema,
        name="db.`my events`",
        key=["id", "day"],
        partitioned_by=["day"],
        properties={"format-version": "3", "it's": "quoted"},
    )
    assert table.key == ("id", "day")
    assert table.properties["it's"] == "quoted"
    by_text = make_table(
        lake,
        "id BIGINT, day DATE",
        name="deep.er.t",
        key=["id", "day"],
        partitioned_by=["days(day)"],
        properties={"a": "b"},
    )
    assert by_text.properties["a"] == "b"
    assert lake.namespaces("deep") == ["deep.er"]


def test_rows_of_one_key_are_refused(lake: LocalCatalog) -> None:
    with pytest.raises(DataError, match="DUPLICATE_KEY"):
        make_table(lake, "id INT", name="db.t", key="id", rows=[{"id": 1}, {"id": 1}])


def test_a_cleared_catalog_is_empty_and_takes_the_same_names(tmp_path: Path) -> None:
    for kind in ("folder", "sqlite"):
        catalog = TemporaryCatalog.within(tmp_path / kind, "shop", kind=kind)  # type: ignore[arg-type]
        for _ in range(2):
            lake = catalog.open()
            assert lake.namespaces() == []
            table = make_table(lake, "id INT", name="db.inner.t", key="id", rows=[{"id": 1}])
            assert_tables_equal(table, [{"id": 1}])
            catalog.clear()
            assert catalog.open().namespaces() == []
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            table.to_arrow()


def test_settings_are_those_of_spark(tmp_path: Path) -> None:
    catalog = TemporaryCatalog.within(tmp_path, "shop", options={"care": "keyed", "table-default.a": "b"})
    assert catalog.settings == {
        "spark.sql.catalog.shop": "io.sqlext.Catalog",
        "spark.sql.catalog.shop.warehouse": str(tmp_path / "warehouse"),
        "spark.sql.catalog.shop.care": "keyed",
        "spark.sql.catalog.shop.table-default.a": "b",
    }
