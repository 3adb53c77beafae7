/* Spark 4.1 and later: a streaming query has its trigger. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.execution.streaming.ContinuousTrigger
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation

object StreamPlans {
  type Relation = StreamingRelation

  def isContinuous(query: WriteToStreamStatement): Boolean = query.trigger.isInstanceOf[ContinuousTrigger]

  def relation(source: DataSource, name: String, output: Seq[Attribute]): LogicalPlan = StreamingRelation(source, name, output)
}
