"""The judge's process: one Spark session with Iceberg's runtime that answers JSON lines (see `iceberg.py`)."""

from __future__ import annotations

import json
import os
import sys
from typing import IO, Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import DRIVERS, IVY_CACHE, RUNTIME


def start_session() -> SparkSession:
    settings = {
        "spark.jars.packages": ",".join((RUNTIME, *DRIVERS)),
        "spark.jars.ivy": str(IVY_CACHE),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1",
        # its minimum of 0.0 is the bound, -0.0
        "spark.sql.iceberg.aggregate-push-down.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        # a few rows a statement are read sooner than code for them is compiled
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]").appName("iceberg-judge")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    if "catalog" in request:
        prefix = f"spark.sql.catalog.{request['catalog']}"
        spark.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
        for name, value in request["settings"].items():
            spark.conf.set(f"{prefix}.{name}", value)
        # the other engine moves the tables: every statement must look at the folder again
        spark.conf.set(f"{prefix}.cache-enabled", "false")
        return {}
    if "view_metadata" in request:
        parser = spark._jvm.org.apache.iceberg.view.ViewMetadataParser
        return {"written": parser.toJson(parser.fromJson("file:///v1.metadata.json", request["view_metadata"]))}
    try:
        return {"rows": canonical_rows(spark.sql(request["sql"]))}
    except PySparkException as error:
        return {"condition": error.getCondition(), "error": str(error).split("\n\nJVM stacktrace")[0]}
    except Exception as error:
        return {"condition": None, "error": f"{type(error).__name__}: {error}"}


def main() -> None:
    # the JVM inherits standard output and may write to it: answers go to a private copy
    answers: IO[str] = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = start_session()
    for line in sys.stdin:
        answers.write(json.dumps(answer(spark, json.loads(line))) + "\n")
        answers.flush()
    spark.stop()


if __name__ == "__main__":
    main()
