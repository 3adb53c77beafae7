/* Spark up to 4.1: DESCRIBE of a table may name one of its partitions. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.plans.logical.{DescribeRelation, LogicalPlan}

object DescribedRelation {
  /** What a DESCRIBE of a whole table describes. */
  def unapply(described: DescribeRelation): Option[LogicalPlan] =
    if (described.partitionSpec.isEmpty) Some(described.relation) else None
}
