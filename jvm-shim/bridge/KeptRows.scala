/* Rows that Python had a query compute for the result of the statement that it runs. They stay in the JVM, in Spark's own
 * objects, as JSON has not all of Spark's types. */
package io.sqlext

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.{DataFrame, Row}

object KeptRows {
  private val all = new ConcurrentHashMap[String, Array[Row]]()

  /** The name by which `take` finds the rows of the query; null where there are more than `most`. */
  def keep(rows: DataFrame, most: Int): String = {
    val collected = JobNames.inPhase(rows.sparkSession, "fetch rows")(rows.collect())
    if (collected.length > most) null
    else {
      val name = UUID.randomUUID.toString
      all.put(name, collected)
      name
    }
  }

  def take(name: String): Seq[Row] = all.remove(name).toSeq
}
