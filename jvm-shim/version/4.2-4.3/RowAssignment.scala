/* Spark 4.2 and later: how absent columns are filled is one of three modes. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.analysis.TableOutputResolver
import org.apache.spark.sql.catalyst.analysis.TableOutputResolver.DefaultValueFillMode.{FILL, NONE}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf

object RowAssignment {
  /** Store assignment of whole rows; by name, a column that is not there is null. */
  def resolve(table: String, expected: Seq[Attribute], query: LogicalPlan, byName: Boolean): LogicalPlan =
    TableOutputResolver.resolveOutputColumns(table, expected, query, byName, SQLConf.get, if (byName) FILL else NONE)
}
