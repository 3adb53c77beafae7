"""A Spark session that was there before sqlext: `late_process.py FOLDER [HOW]`. Prints what it found as JSON.

HOW is `ADD JAR`, where the shim's classes are there before, or how a framework makes a session: `of a context`, or
`of a JVM session`.
"""

from __future__ import annotations

import json
import sys

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext
from sqlext.spark.shim.shim_jar import shim_jar

CATALOG = {"spark.sql.catalog.lake": "io.sqlext.Catalog", "spark.sql.catalog.lake.warehouse": sys.argv[1] + "/lake"}


def refused(run: object) -> str:
    try:
        run()  # type: ignore[operator]
    except (PySparkException, Py4JJavaError, sqlext.SqlextError) as failure:
        return str(failure).splitlines()[0]
    return "nothing"


class OfAFramework(SparkSession):
    """As AWS Glue and others have one."""


def made(how: str) -> SparkSession:
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.warehouse.dir": sys.argv[1] + "/own",
        "spark.own.delimiter": "\x1f",
        "spark.own.pair -> of": "a -> b",
    }
    if not how.startswith("of a"):
        return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    context = SparkContext("local[2]", "framework", conf=SparkConf().setAll(settings.items()))
    if how == "of a context":
        return SparkSession(context)
    classes = context._jvm.org.apache.spark.sql.classic  # type: ignore[union-attr]
    jvm_session = classes.SparkSession.builder().sparkContext(context._jsc.sc()).getOrCreate()
    return OfAFramework(context, jvm_session)


def main() -> None:
    found: dict[str, object] = {}
    how = sys.argv[2]
    spark = made(how)
    spark.range(3).createOrReplaceTempView("three")
    spark.udf.register("plus", lambda value: value + 1, "int")
    settings = spark.conf
    settings.set("spark.sql.shuffle.partitions", "3")
    spark.sql("CREATE DATABASE own")
    spark.sql("USE own")
    other = spark.newSession()
    other.sql("SELECT 1").collect()
    for session in (spark, other):
        for key, value in CATALOG.items():
            session.conf.set(key, value)
    if how == "ADD JAR":
        spark.sql(f"ADD JAR '{shim_jar()}'")

    query = spark.readStream.format("rate").load().writeStream.format("noop").queryName("running").start()
    found["with a stream"] = refused(lambda: sqlext.attach(spark))
    query.stop()
    found["same session"] = sqlext.attach(spark) is spark and sqlext.attach(spark) is spark

    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql(
        "CREATE TABLE lake.db.t (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.mode' = 'equality')"
    )
    spark.sql("UPSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b')")
    spark.sql("UPSERT INTO lake.db.t SELECT 2, 'c'")
    found["rows"] = sorted(map(list, spark.table("lake.db.t").collect()))
    spark.range(201_000).selectExpr("CAST(id AS INT) AS id", "'x' AS v").writeTo("lake.db.many").create()
    spark.sql("DELETE FROM lake.db.many WHERE id % 2 = 0")
    found["many"] = spark.table("lake.db.many").count()
    found["before"] = list(spark.sql("SELECT plus(1), (SELECT count(*) FROM three), current_database()").collect()[0])
    settings.set("spark.sql.shuffle.partitions", "5")
    found["settings"] = [spark.conf.get(key) for key in ("spark.sql.shuffle.partitions", "spark.sql.catalog.lake")]
    found["other session"] = refused(lambda: other.table("lake.db.t").collect())
    found["written in it"] = refused(lambda: other.sql("INSERT INTO lake.db.t VALUES (3, 'd')"))
    found["other session attached"] = sqlext.attach(other).table("lake.db.t").count()
    found["later session"] = spark.newSession().sql("SELECT count(*) FROM values (1)").collect()[0][0]
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
