/* Statements on sqlext's tables that did not come as a text of which the parser could know it: `IDENTIFIER(…)` stood for
 * the name, or they came from `spark.catalog`. They become the commands that their texts are. */
package io.sqlext

import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ShowCreateTable, TruncateTable}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.quoteIdentifier
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.sqlext.SparkInternals

object PlannedStatements extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case ShowCreateTable(ResolvedTable(catalog: Catalog, table, _: SqlextTable, _), false, _) =>
      command("SHOW CREATE TABLE", catalog, table)
    case TruncateTable(ResolvedTable(catalog: Catalog, table, _: SqlextTable, _)) =>
      command("TRUNCATE TABLE", catalog, table)
    case other => other
  }

  private def command(verb: String, catalog: Catalog, table: Identifier): LogicalPlan = {
    val name = (catalog.name +: table.namespace.toSeq :+ table.name).map(quoteIdentifier).mkString(".")
    SparkInternals.parsed(s"$verb $name")
  }
}
