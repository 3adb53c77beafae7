/* Spark up to 4.1: whether absent columns are filled is a Boolean. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.analysis.TableOutputResolver
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf

object RowAssignment {
  /** Store assignment of whole rows; by name, a column that is not there is null. */
  def resolve(table: String, expected: Seq[Attribute], query: LogicalPlan, byName: Boolean): LogicalPlan =
    TableOutputResolver.resolveOutputColumns(table, expected, query, byName, SQLConf.get, supportColDefaultValue = byName)
}
