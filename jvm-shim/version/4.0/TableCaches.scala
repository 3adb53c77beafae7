/* Spark 4.0: nothing caches a table again under its name. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.classic

object TableCaches {
  /** Cached rows of the table and of queries on it are let go. */
  def drop(session: classic.SparkSession, table: Seq[String]): Unit =
    session.sharedState.cacheManager.uncacheTableOrView(session, table, cascade = true)

  /** Caches of an older version of the table are let go: no query of the newest takes their rows, and Spark 4.0 has no
    * way to fill them with those of the newest. */
  def renew(session: classic.SparkSession, table: Seq[String]): Unit = drop(session, table)
}
