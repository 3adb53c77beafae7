"""A Scala driver: DataFrames, applications after each other in one JVM, and a Python side that is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.spark_servers import run

DRIVER = """
import org.apache.spark.sql.SparkSession
import scala.sys.process._

def told(name: String)(value: => Any): Unit =
  println(s"told $name: " + (try value.toString catch {
    case e: Throwable => e.getMessage.takeWhile(_ != ']').drop(1) }))

def children: Seq[String] =
  ProcessHandle.current.children.toArray.toSeq.map(_.toString).filter { id =>
    scala.io.Source.fromFile(s"/proc/$id/cmdline").mkString.contains("sqlext.serve") }

spark.sql("CREATE NAMESPACE lake.db")
spark.sql("CREATE TABLE lake.db.t (id BIGINT, v STRING, PRIMARY KEY (id))")
spark.range(250000).selectExpr("id", "'a' AS v").writeTo("lake.db.t").append()
Seq((1L, "b"), (-1L, "c")).toDF("id", "v").writeTo("lake.db.t").option("upsert-enabled", "true").append()
told("rows")(spark.table("lake.db.t").where("v <> 'a'").orderBy("id").collect.mkString)

spark.sql("BEGIN")
spark.sql("DELETE FROM lake.db.t")
val other = spark.newSession()
told("apart")(other.table("lake.db.t").count)
told("children")(children.size)
s"kill -9 ${children.head}".!
told("at once")(other.sql("SELECT count(*) FROM lake.db.t").head)
Thread.sleep(500)
told("other session")(other.sql("SELECT count(*) FROM lake.db.t").head)
told("in the lost transaction")(spark.sql("INSERT INTO lake.db.t VALUES (7, 'z')"))
told("a read in it")(spark.table("lake.db.t").count)
told("its commit")(spark.sql("COMMIT"))
told("begun anew")(spark.sql("BEGIN"))
told("rolled back")(spark.sql("ROLLBACK"))
told("after it")(spark.sql("SELECT count(*) FROM lake.db.t").head)

val conf = spark.sparkContext.getConf
spark.stop()
told("children of a stopped application")({ Thread.sleep(2000); children.size })
val second = SparkSession.builder.config(conf).getOrCreate()
told("second application")(second.sql("UPSERT INTO lake.db.t VALUES (1, 'd')").head)
told("its rows")(second.table("lake.db.t").where("id = 1").head)
told("children of the second")(children.size)
System.exit(0)
"""


@pytest.mark.long
def test_a_scala_driver(tmp_path: Path) -> None:
    script = tmp_path / "driver.scala"
    script.write_text(DRIVER)
    done = run("spark-shell", tmp_path, "-i", str(script))
    lines = [line[5:] for line in done.stdout.splitlines() if line.startswith("told ")]
    # Whether the statement finds the child dead or dying is a matter of milliseconds.
    assert lines.pop(3) in ("at once: [250001]", "at once: PYTHON_ENDED"), done.stderr[-3000:]
    assert lines == [
        "rows: [-1,c][1,b]",
        "apart: 250001",
        "children: 1",
        "other session: [250001]",
        "in the lost transaction: TRANSACTION_LOST",
        "a read in it: TRANSACTION_LOST",
        "its commit: TRANSACTION_LOST",
        "begun anew: []",
        "rolled back: []",
        "after it: [250001]",
        "children of a stopped application: 0",
        "second application: [1,0,1,0]",
        "its rows: [1,d]",
        "children of the second: 1",
    ], done.stdout[-3000:] + done.stderr[-3000:]
