/* Spark 4.1 and later: store assignment of one value can fill the fields that a struct lacks. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.analysis.TableOutputResolver
import org.apache.spark.sql.catalyst.analysis.TableOutputResolver.DefaultValueFillMode.{NONE, RECURSE}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.internal.SQLConf

object UpdateAssignment {
  def resolve(table: String, value: Expression, column: Attribute, path: Seq[String], fills: Boolean,
      addError: String => Unit): Expression =
    TableOutputResolver.resolveUpdate(table, value, column, SQLConf.get, addError, path, if (fills) RECURSE else NONE)
}
