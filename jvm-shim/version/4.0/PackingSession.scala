/* Spark 4.0: how many rows come to a Python worker at once is a setting of the session that plans the query. */
package org.apache.spark.sql.sqlext

import io.sqlext.JobSettings
import org.apache.spark.sql.classic.SparkSession

object PackingSession {
  /** A session that plans as `own` does, which keeps its settings. */
  def of(own: SparkSession): SparkSession = {
    val session = own.cloneSession()
    JobSettings.oneByOne.foreach { case (name, value) => session.sessionState.conf.setConfString(name, value) }
    session
  }
}
