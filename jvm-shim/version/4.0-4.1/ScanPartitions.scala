/* Spark up to 4.1: a task of a scan has several inputs. */
package org.apache.spark.sql.sqlext

import org.apache.spark.Partition
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDDPartition

object ScanPartitions {
  /** What a task of a scan of the DataSource V2 interface reads. */
  def inputs(task: Partition): Seq[InputPartition] = task match {
    case partition: DataSourceRDDPartition => partition.inputPartitions
    case _ => Nil
  }
}
