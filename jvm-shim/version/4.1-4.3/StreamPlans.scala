/* Spark 4.1 and later: a streaming query has its trigger. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.streaming.ContinuousTrigger
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation

object StreamPlans {
  type Relation = StreamingRelation
  val Relation: StreamingRelation.type = StreamingRelation

  def isContinuous(query: WriteToStreamStatement): Boolean = query.trigger.isInstanceOf[ContinuousTrigger]
}
