/* Spark 4.0: store assignment of one value has no way to say what fills the fields that a struct lacks. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.analysis.TableOutputResolver
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.internal.SQLConf

object UpdateAssignment {
  def resolve(table: String, value: Expression, column: Attribute, path: Seq[String], fills: Boolean,
      addError: String => Unit): Expression =
    TableOutputResolver.resolveUpdate(table, value, column, SQLConf.get, addError, path)
}
