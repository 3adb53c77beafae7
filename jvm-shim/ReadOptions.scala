package io.sqlext

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import scala.jdk.CollectionConverters._

/** `spark.read.option("branch", …).table(…)`: puts the table at the place of its history that the read options name,
  * and has Python refuse those that are none.
  *
  * Spark hands options to a scan only, when columns are resolved and deletes are known already. */
object ReadOptions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperators {
    case relation: DataSourceV2Relation if relation.identifier.isDefined && !relation.options.isEmpty =>
      relation.table match {
        case table: SqlextTable if table.role == Rows => placed(relation, table)
        case _ => relation
      }
  }

  private def placed(relation: DataSourceV2Relation, table: SqlextTable): LogicalPlan = {
    val options = relation.options.asCaseSensitiveMap.asScala.toMap
    val described = Bridge.ask("load by options", Map("table" -> table.handle, "options" -> options)).get("table")
    val none = CaseInsensitiveStringMap.empty()
    Option(described).map(new SqlextTable(_, Rows)) match {
      case None => relation.copy(options = none)
      case Some(moved) if moved.schema == table.schema => relation.copy(table = moved, options = none)
      case Some(moved) => DataSourceV2Relation.create(moved, relation.catalog, relation.identifier, none)
    }
  }
}
