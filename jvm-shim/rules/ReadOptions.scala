/* Options of reads, by rules of the analyser: those that name a place in a table's history become a version of the
 * table, others are known or refused. */
package io.sqlext

import org.apache.spark.sql.catalyst.analysis.{RelationTimeTravel, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import scala.jdk.CollectionConverters._

/** `spark.read.option("branch", …).table(…)` and `table WITH ('branch' = '…')`: options that name a place in a table's
  * history become a version of the table, before Spark looks the table up.
  *
  * Spark looks a table up once for a query, and gives what it finds the options of the first place where it stands. A
  * version is part of what it looks up; that of a view, which has none, is an error. */
object ReadOptions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperators {
    case table: UnresolvedRelation if !table.isStreaming && !table.options.isEmpty && isOurs(table) =>
      val options = SparkInternals.readOptions(table)
      if (options.isEmpty) table
      else Option(Bridge.ask("version of options", Map("options" -> options)).get("version")) match {
        case Some(version) =>
          RelationTimeTravel(table.copy(options = CaseInsensitiveStringMap.empty()), None, Some(version.asText))
        case None => table
      }
  }

  private def isOurs(table: UnresolvedRelation): Boolean =
    Catalog.holds(SparkInternals.nameInCatalog(table.multipartIdentifier))
}

/** Has Python refuse options that are none, of a table that was found; the others tune what Iceberg's reader does. */
object KnownReadOptions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperators {
    case relation: DataSourceV2Relation if relation.identifier.isDefined && !relation.options.isEmpty =>
      relation.table match {
        case table: SqlextTable if table.role == Rows =>
          Bridge.ask("check read options", Map("options" -> relation.options.asCaseSensitiveMap.asScala.toMap))
          relation.copy(options = CaseInsensitiveStringMap.empty())
        case _ => relation
      }
  }
}
