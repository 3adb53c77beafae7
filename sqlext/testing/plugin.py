"""The plugin of pytest: fixtures and options. What they need is imported when a test asks for one of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

import sqlext
from sqlext import testing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sqlext.local import LocalCatalog, LocalTable
    from sqlext.testing import Faults, TemporaryCatalog

_KINDS = ("folder", "sqlite")
_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Of the session of tests, unless `sqlext_spark_settings` say otherwise: small tables, and no page to look at."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sqlext", "tests of pipelines with sqlext")
    group.addoption("--sqlext-catalog-type", choices=_KINDS, help="where the temporary catalog keeps names of tables")
    group.addoption("--sqlext-seed", type=int, default=0, metavar="N", help="the first seed of `simulate` (0)")
    group.addoption("--sqlext-seeds", type=int, default=3, metavar="N", help="how many seeds `simulate` takes (3)")
    parser.addini("sqlext_catalog_name", "the temporary catalog's name", default="lake")
    parser.addini("sqlext_catalog_type", f"one of {', '.join(_KINDS)}", default="folder")
    parser.addini("sqlext_catalog_options", "further options of the catalog: lines of name = value", type="linelist")
    parser.addini("sqlext_spark_master", "the master of the session of tests", default="local[2, 4]")
    parser.addini("sqlext_spark_settings", "further settings of the session: lines of name = value", type="linelist")


@pytest.fixture(scope="session")
def sqlext_catalog(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> TemporaryCatalog:
    """The catalog of the run, in a folder of pytest; tests use it by `sqlext_warehouse`, `sqlext_local` and
    `sqlext_spark`."""
    kind = pytestconfig.getoption("--sqlext-catalog-type") or pytestconfig.getini("sqlext_catalog_type")
    if kind not in _KINDS:
        raise pytest.UsageError(f"sqlext_catalog_type is {kind!r}, and can be {' or '.join(_KINDS)}")
    return testing.TemporaryCatalog.within(
        tmp_path_factory.mktemp("sqlext"),
        pytestconfig.getini("sqlext_catalog_name"),
        kind=kind,
        options=_pairs(pytestconfig, "sqlext_catalog_options"),
    )


@pytest.fixture
def sqlext_warehouse(sqlext_catalog: TemporaryCatalog) -> Iterator[TemporaryCatalog]:
    """The catalog, empty at the beginning of each test: all that is in it goes before and after."""
    sqlext_catalog.clear()
    yield sqlext_catalog
    sqlext_catalog.clear()


@pytest.fixture
def sqlext_local(sqlext_warehouse: TemporaryCatalog) -> LocalCatalog:
    """The catalog opened by `sqlext.local`, without a JVM."""
    return sqlext_warehouse.open()


@pytest.fixture(scope="session")
def sqlext_spark_session(pytestconfig: pytest.Config, sqlext_catalog: TemporaryCatalog) -> Iterator[SparkSession]:
    """The Spark session of the run, with the catalog; a suite that has one of its own overrides this fixture."""
    running = import_module("sqlext.spark.shim.java_objects").active_context()
    settings = {**_SETTINGS, **sqlext_catalog.settings, **_pairs(pytestconfig, "sqlext_spark_settings")}
    spark = sqlext.session(master=pytestconfig.getini("sqlext_spark_master"), conf=settings)
    yield spark
    if running is None:
        spark.stop()


@pytest.fixture
def sqlext_spark(sqlext_spark_session: SparkSession, sqlext_warehouse: TemporaryCatalog) -> SparkSession:
    """The Spark session of the run, with the catalog empty at the beginning of each test."""
    return sqlext_spark_session


@pytest.fixture
def make_table(sqlext_local: LocalCatalog) -> Callable[..., LocalTable]:
    """Makes tables in the catalog: `sqlext.testing.make_table` without its first argument, and with names `db.t1`,
    `db.t2` … for those that are given none."""
    numbers = itertools.count(1)

    def make(columns: Any, **given: Any) -> LocalTable:
        name = given.pop("name", None) or f"db.t{next(numbers)}"
        return testing.make_table(sqlext_local, columns, name=name, **given)

    return make


@pytest.fixture
def faults(request: pytest.FixtureRequest, sqlext_local: LocalCatalog) -> Faults:
    """`sqlext.testing.Faults` in the catalog, in the running Spark application, and in all catalogs and tables of
    `sqlext.local` among the test's fixtures."""

    def of_the_test() -> list[object]:
        return list(getattr(request.node, "funcargs", {}).values())

    return testing.Faults(sqlext_local, further=of_the_test)


@pytest.fixture
def simulate(pytestconfig: pytest.Config, faults: Faults) -> Callable[..., None]:
    """`sqlext.testing.simulator.simulate` with the seeds of the options `--sqlext-seed` and `--sqlext-seeds`, and the
    test's `faults`."""
    first, count = pytestconfig.getoption("--sqlext-seed"), pytestconfig.getoption("--sqlext-seeds")
    if count < 1:
        raise pytest.UsageError(f"--sqlext-seeds={count} would test nothing: it is at least 1")
    simulator = import_module("sqlext.testing.simulator")
    return partial(simulator.simulate_seeds, range(first, first + count), faults=faults)


def _pairs(config: pytest.Config, name: str) -> Mapping[str, str]:
    """The lines of an option in a file of settings. Raises UsageError."""
    found = {}
    for line in config.getini(name):
        key, equals, value = line.partition("=")
        if not equals:
            raise pytest.UsageError(f"{name} has the line {line!r}, which is not of the form name = value")
        found[key.strip()] = value.strip()
    return found
