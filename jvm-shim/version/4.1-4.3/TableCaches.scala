/* Spark 4.1 and later: a cached table can be cached again under its name. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.classic

import scala.util.control.NonFatal

object TableCaches {
  /** Cached rows of the table and of queries on it are let go. */
  def drop(session: classic.SparkSession, table: Seq[String]): Unit =
    session.sharedState.cacheManager.uncacheTableOrView(session, table, cascade = true, blocking = true)

  /** Caches of the table and of queries on it are made anew when they are next used. One that cannot be, as of a query
    * of a column that is gone, is dropped. */
  def renew(session: classic.SparkSession, table: Seq[String]): Unit =
    try session.sharedState.cacheManager.recacheTableOrView(session, table, includeTimeTravel = false)
    catch { case NonFatal(_) => session.sharedState.cacheManager.uncacheTableOrView(session, table, cascade = true, blocking = false) }
}
