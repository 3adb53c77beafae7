"""The three systems side by side: how each opens a session and how each creates a table.

All get the same Spark, the same two cores and heap, and the same codec; each gets its own best settings for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

import sqlext
from judges.iceberg import IVY_CACHE, RUNTIME

DELTA = "io.delta:delta-spark_4.1_2.13:4.4.0,io.delta:delta-storage:4.4.0"
SHARED_SETTINGS = {
    "spark.driver.memory": "6g",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.jars.ivy": str(IVY_CACHE),
    "spark.log.level": "ERROR",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
MASTER = "local[2]"


@dataclass(frozen=True, slots=True)
class System:
    """One system: where its tables live, what a table's creation says, and the ways it has for a MERGE, and for other
    changes to rows where those are not the same."""

    name: str
    namespace: str
    provider: str
    merge_modes: Mapping[str, Mapping[str, str]]
    settings: Mapping[str, str] = field(default_factory=dict)
    other_modes: Mapping[str, Mapping[str, str]] | None = None
    keyed: bool = False
    hidden_partitions: bool = True

    @property
    def change_modes(self) -> Mapping[str, Mapping[str, str]]:
        """The ways for UPDATE and DELETE."""
        return self.merge_modes if self.other_modes is None else self.other_modes

    def open_session(self, warehouse: Path, settings: Mapping[str, str]) -> SparkSession:
        """A session with these settings beside the system's own and those that all share."""
        own = {name: value.format(warehouse=warehouse) for name, value in self.settings.items()}
        settings = {**SHARED_SETTINGS, **settings, **own}
        if self.name == "sqlext":
            spark = sqlext.session(lake=str(warehouse), master=MASTER, conf=settings)
        else:
            builder = SparkSession.builder.master(MASTER).appName(f"benchmark-{self.name}")
            for name, value in settings.items():
                builder = builder.config(name, value)
            spark = builder.getOrCreate()
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self.namespace}")
        return spark

    def create_table(
        self, name: str, columns: str, mode: Mapping[str, str], *, key: str = "", partition: str = ""
    ) -> str:
        """CREATE TABLE text; `columns` is DDL, `key` a column name, `partition` a partitioning clause's inside."""
        constraint = f", PRIMARY KEY ({key}) NOT ENFORCED" if key and self.keyed else ""
        partitioned = f" PARTITIONED BY ({partition})" if partition else ""
        properties = ", ".join(f"'{name}'='{value}'" for name, value in mode.items())
        return f"CREATE TABLE {self.namespace}.{name} ({columns}{constraint}) USING {self.provider}{partitioned}" + (
            f" TBLPROPERTIES ({properties})" if properties else ""
        )


def _of_iceberg(version: str, mode: str) -> Mapping[str, str]:
    return {"format-version": version, **{f"write.{verb}.mode": mode for verb in ("merge", "update", "delete")}}


COMPACTS_ITSELF = {"write-only": "false", "compaction.delete-ratio-threshold": "0.03"}
SQLEXT = System(
    name="sqlext",
    namespace="lake.bench",
    provider="iceberg",
    keyed=True,
    merge_modes={
        "equality": {"write.upsert.mode": "equality"},
        "resolved": {"write.upsert.mode": "resolved"},
        "resolved, compacted": COMPACTS_ITSELF,
    },
    other_modes={
        "copy-on-write": _of_iceberg("2", "copy-on-write"),
        "merge-on-read v2": {"format-version": "2"},
        "merge-on-read v3": {"format-version": "3"},
    },
)
ICEBERG = System(
    name="iceberg",
    namespace="lake.bench",
    provider="iceberg",
    settings={
        "spark.jars.packages": RUNTIME,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": "{warehouse}",
    },
    merge_modes={
        "copy-on-write": _of_iceberg("2", "copy-on-write"),
        "merge-on-read v2": _of_iceberg("2", "merge-on-read"),
        "merge-on-read v3": _of_iceberg("3", "merge-on-read"),
    },
)
DELTA_LAKE = System(
    name="delta",
    namespace="spark_catalog.bench",
    provider="delta",
    hidden_partitions=False,
    settings={
        "spark.jars.packages": DELTA,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": "{warehouse}",
        # the default of 50 tasks per state reconstruction is for clusters
        "spark.databricks.delta.snapshotPartitions": "2",
    },
    merge_modes={"deletion vectors": {"delta.enableDeletionVectors": "true"}},
)
SYSTEMS = {system.name: system for system in (SQLEXT, ICEBERG, DELTA_LAKE)}
