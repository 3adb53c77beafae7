/* PySpark's `getMessage` makes the text of an error anew, of its condition and parameters, and fails for a condition
 * that Spark does not know. So Spark is told the conditions of sqlext as they occur; those that it has stay its own. */
package org.apache.spark.sql.sqlext

import org.apache.spark.{ErrorClassesJsonReader, ErrorInfo, SparkThrowableHelper}

import scala.util.Try

object ErrorTemplates {
  // Spark has no way to add conditions to those of its own file.
  private val field = Try {
    val found = classOf[ErrorClassesJsonReader].getDeclaredField("errorInfoMap")
    found.setAccessible(true)
    found
  }

  /** `template` has its parameters in angle brackets. */
  def add(condition: String, state: String, template: String): Unit = synchronized {
    val reader = SparkThrowableHelper.errorReader
    if (!reader.isValidErrorClass(condition))
      field.foreach(_.set(reader, reader.errorInfoMap + (condition -> ErrorInfo(Seq(template), None, Some(state)))))
  }
}
