package io.sqlext

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import scala.jdk.CollectionConverters._

/** `spark.read.option("branch", …).table(…)`: puts the table at the place of its history that the read options name.
  *
  * Spark hands options to a scan only, when columns are resolved and deletes are known already. */
object ReadOptions extends Rule[LogicalPlan] {
  private val places = Set("branch", "tag", "snapshot-id", "as-of-timestamp")

  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperators {
    case relation: DataSourceV2Relation if relation.identifier.isDefined && places.exists(relation.options.containsKey) =>
      relation.table match {
        case table: SqlextTable if table.role == Rows => placed(relation, table)
        case _ => relation
      }
  }

  private def placed(relation: DataSourceV2Relation, table: SqlextTable): LogicalPlan = {
    val options = relation.options.asCaseSensitiveMap.asScala.toMap
    val moved = new SqlextTable(Bridge.ask("load by options", Map("table" -> table.handle, "options" -> options)).get("table"), Rows)
    val rest = new CaseInsensitiveStringMap(options.filterNot { case (key, _) => places(key.toLowerCase) }.asJava)
    val whole = DataSourceV2Relation.create(moved, relation.catalog, relation.identifier, rest)
    if (moved.schema == table.schema) relation.copy(table = moved, options = rest) else whole
  }
}
