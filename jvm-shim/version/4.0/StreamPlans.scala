/* Spark 4.0: a streaming query says only whether its trigger is continuous, and StreamingRelation is in another package
 * than later. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.execution.streaming.StreamingRelation

object StreamPlans {
  type Relation = StreamingRelation

  def isContinuous(query: WriteToStreamStatement): Boolean = query.isContinuousTrigger

  def relation(source: DataSource, name: String, output: Seq[Attribute]): LogicalPlan = StreamingRelation(source, name, output)
}
