/* Spark up to 4.1 has no CHANGES clause. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

object ChangesClause extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan
}
