/* A node of a physical plan whose rows the driver may have: they are broadcast to a join without a job. It is in Spark's
 * package for the method that a broadcast calls. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SparkPlan

trait RowsOnDriver extends SparkPlan {
  /** None if tasks have to make them. */
  def rowsOnDriver: Option[Array[InternalRow]]

  override private[spark] def executeCollectIterator(): (Long, Iterator[InternalRow]) =
    rowsOnDriver.map(rows => (rows.length.toLong, rows.iterator)).getOrElse(super.executeCollectIterator())
}
