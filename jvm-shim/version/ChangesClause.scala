/* A rule for `FROM table CHANGES FROM … TO …` and `spark.read.changes`: Spark has them from 4.2 on, so its classes are
 * met by their names. A rule for hints comes before tables are looked up, where Spark would ask the catalog for a
 * changelog. */
package io.sqlext

import java.util.Optional

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.sqlext.SparkInternals

object ChangesClause extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperators {
    case changes if changes.getClass.getSimpleName == "RelationChanges" =>
      told(changes, "relation") match {
        case table: UnresolvedRelation if !table.isStreaming =>
          val name = SparkInternals.nameInCatalog(table.multipartIdentifier)
          if (SparkSession.active.sessionState.catalogManager.catalog(name.head).isInstanceOf[Catalog])
            query(name, told(changes, "changelogContext"))
          else changes
        case _ => changes
      }
  }

  private def query(name: Seq[String], context: AnyRef): LogicalPlan = {
    val range = told(context, "range")
    val kind = range.getClass.getSimpleName
    def bound(edge: String): Map[String, Any] =
      if (kind == "VersionRange") place("version", told(range, s"${edge}Version"))
      else if (kind == "TimestampRange") place("timestamp", told(range, s"${edge}Timestamp"))
      else Map.empty
    val answer = Bridge.ask("changes clause", Map(
      "table" -> name,
      "from" -> bound("starting"),
      "to" -> bound("ending"),
      "from_inclusive" -> told(range, "startingBoundInclusive"),
      "to_inclusive" -> told(range, "endingBoundInclusive"),
      "mode" -> told(told(context, "deduplicationMode"), "value"),
      "updates" -> told(context, "computeUpdates")))
    SparkInternals.parsed(answer.get("sql").asText)
  }

  private def place(key: String, value: AnyRef): Map[String, Any] = value match {
    case given: Optional[_] => if (given.isPresent) Map(key -> given.get) else Map.empty
    case given => Map(key -> given)
  }

  private def told(of: AnyRef, property: String): AnyRef = of.getClass.getMethod(property).invoke(of)
}
