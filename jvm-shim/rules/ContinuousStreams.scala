/* A rule that has a streaming query with a continuous trigger refused that writes a table or reads one. It comes
 * before Spark's own rule for such a query, after which its trigger is not to be seen. */
package io.sqlext

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.sqlext.StreamPlans

object ContinuousStreams extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case query: WriteToStreamStatement if StreamPlans.isContinuous(query) =>
        query.sink match {
          case table: SqlextTable => refuse("write", table.name)
          case _ => query.inputQuery.foreach {
            case read: StreamPlans.Relation if read.dataSource.className == classOf[StreamingSourceProvider].getName =>
              refuse("read", read.sourceName)
            case _ =>
          }
        }
      case _ =>
    }
    plan
  }

  private def refuse(kind: String, name: String): Unit = Bridge.ask("refuse continuous stream", Map("kind" -> kind, "name" -> name))
}
