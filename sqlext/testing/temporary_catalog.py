"""A catalog for tests, in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pyspark.sql import SparkSession

from sqlext.any_session import catalog_class
from sqlext.catalog.catalog_options import CARE, NO_CARE
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.dropped_table import UNDROP_RETENTION
from sqlext.local.local_catalog import LocalCatalog
from sqlext.local.sessionless import environment_of
from sqlext.spark_session import attach

CatalogKind: TypeAlias = Literal["folder", "sqlite"]


@dataclass(frozen=True)
class TemporaryCatalog:
    """A catalog, which Spark and `sqlext.local` open by the same `name` and `options`.

    >>> from sqlext.testing import TemporaryCatalog
    >>> catalog = TemporaryCatalog.within(folder)
    >>> catalog.open().create_namespace("db")
    >>> sorted(catalog.settings)
    ['spark.sql.catalog.lake', 'spark.sql.catalog.lake.care', 'spark.sql.catalog.lake.warehouse']
    """

    name: str
    options: Mapping[str, str]

    @staticmethod
    def within(
        folder: str | Path,
        name: str = "lake",
        *,
        kind: CatalogKind = "folder",
        options: Mapping[str, str] | None = None,
    ) -> TemporaryCatalog:
        """A catalog in a folder, of plain folders or with its names in SQLite.

        Its tables do not look after themselves, so that a test sees the snapshots and files of its own statements, and
        dropped ones are gone; `options`, those of any catalog, can say otherwise.
        """
        root = Path(folder).absolute()
        where = {"warehouse": str(root / "warehouse"), CARE: NO_CARE}
        if kind == "sqlite":
            root.mkdir(parents=True, exist_ok=True)
            where |= {"type": "sql", "uri": f"sqlite:{root / 'catalog.db'}", UNDROP_RETENTION: "0"}
        return TemporaryCatalog(name, {**where, **(options or {})})

    @property
    def settings(self) -> Mapping[str, str]:
        """Spark's settings that define the catalog."""
        of = f"spark.sql.catalog.{self.name}"
        return {of: catalog_class(self.name), **{f"{of}.{key}": value for key, value in self.options.items()}}

    def open(self) -> LocalCatalog:
        """The catalog without a JVM. Raises as `sqlext.local.open`."""
        return LocalCatalog(self.name, environment_of(self.name, self.options))

    def attach_to(self, spark: SparkSession) -> SparkSession:
        """The session, with sqlext and this catalog added to it. Raises as `sqlext.attach`, and AnalysisError
        CATALOG_IS_OPEN if it has another catalog of the name."""
        attached = attach(spark)
        for key, value in self.settings.items():
            attached.conf.set(key, value)
        return attached

    def clear(self) -> None:
        """Drops all namespaces, with their tables, files and views."""
        catalog = open_catalog(self.name, self.options)
        for namespace in catalog.list_namespaces():
            catalog.drop_namespace(namespace, cascade=True)
