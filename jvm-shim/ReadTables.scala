package io.sqlext

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/** What a query reads of tables, once Spark has optimised it. */
object ReadTables {
  /** JSON: for each scan the table's handle and the filters that leave out what it need not read, as `PredicateJson` has
    * them. Subqueries count; the keys of equality deletes do not. */
  def of(optimized: LogicalPlan): String = Bridge.encode(optimized.collectWithSubqueries {
    case relation: DataSourceV2ScanRelation => (relation.relation.table, relation.scan)
  }.collect {
    case (table: SqlextTable, scan: SqlextScan) if !table.role.isInstanceOf[EqualityDeletes] =>
      Seq(table.handle, scan.filters.flatMap(PredicateJson.encode))
    case (table: SqlextTable, _) if !table.role.isInstanceOf[EqualityDeletes] => Seq(table.handle, Nil)
  })
}
