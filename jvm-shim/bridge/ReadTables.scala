/* What a query reads of tables, told to Python from Spark's optimised plan: the read set of a statement. */
package io.sqlext

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}

object ReadTables extends AdaptiveSparkPlanHelper {
  /** JSON: for each scan the table's handle, the filters that leave out what it need not read, as `PredicateJson` has
    * them, and whether it is of the files that equality deletes may touch, of the others (false) or of both (null).
    * Subqueries count, and what a cache holds; the keys of equality deletes do not. */
  def of(optimized: LogicalPlan): String = Bridge.encode(scans(optimized).collect {
    case (table: SqlextTable, scan) if !table.role.isInstanceOf[EqualityDeletes] =>
      val filters = scan match { case own: SqlextScan => own.filters.flatMap(PredicateJson.encode); case _ => Nil }
      Seq(table.handle, filters, table.role match { case StoredRows(_, touched) => touched; case _ => None })
  })

  private def scans(optimized: LogicalPlan): Seq[(Table, Scan)] = optimized.collectWithSubqueries {
    case relation: DataSourceV2ScanRelation => Seq(relation.relation.table -> relation.scan)
    case cached: InMemoryRelation => scans(cached.cacheBuilder.cachedPlan)
  }.flatten

  private def scans(cached: SparkPlan): Seq[(Table, Scan)] = collectWithSubqueries(cached) {
    case one: BatchScanExec => Seq(one.table -> one.scan)
    case inner: InMemoryTableScanExec => scans(inner.relation.cacheBuilder.cachedPlan)
  }.flatten
}
