/* Spark 4.0: a streaming query says only whether its trigger is continuous, and StreamingRelation is in another package
 * than later. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.streaming.StreamingRelation

object StreamPlans {
  type Relation = StreamingRelation
  val Relation: StreamingRelation.type = StreamingRelation

  def isContinuous(query: WriteToStreamStatement): Boolean = query.isContinuousTrigger
}
