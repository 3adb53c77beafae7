/* Spark 4.1 and later: how many rows come to a Python worker at once is a setting of the task. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.classic.SparkSession

object PackingSession {
  /** A session that plans as `own` does. */
  def of(own: SparkSession): SparkSession = own
}
