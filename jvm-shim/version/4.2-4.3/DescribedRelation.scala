/* Spark 4.2 and later: DESCRIBE of a partition is another statement. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.plans.logical.{DescribeRelation, LogicalPlan}

object DescribedRelation {
  /** What a DESCRIBE of a whole table describes. */
  def unapply(described: DescribeRelation): Option[LogicalPlan] = Some(described.relation)
}
