/* `spark.catalog.listColumns` of a table: a plan that is the table alone. Spark asks its partitioning which columns it
 * is partitioned and bucketed by, and fails for any transform that it has no word for, such as months. */
package io.sqlext

import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.expressions.Transform

object ListedColumns extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case listed @ ResolvedTable(_, _, table: SqlextTable, _) if told(table.partitioning).length < table.partitioning.length =>
      listed.copy(table = new SqlextTable(table.description, table.role) {
        override lazy val partitioning: Array[Transform] = told(table.partitioning)
      })
    case other => other
  }

  /** The transforms that Spark tells of columns: identities and one bucket, of columns that are no fields of a struct. */
  private def told(transforms: Array[Transform]): Array[Transform] = {
    val ofColumns = transforms.filter(_.references.forall(_.fieldNames.length == 1))
    val isOneBucket = ofColumns.count(_.name == "bucket") == 1
    ofColumns.filter(one => one.name == "identity" || one.name == "bucket" && isOneBucket)
  }
}
