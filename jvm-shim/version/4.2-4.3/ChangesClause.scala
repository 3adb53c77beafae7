/* A rule for `FROM table CHANGES FROM … TO …` and `spark.read.changes`, which Spark has from 4.2 on: Python says which
 * query of the change feed such a relation is. A rule for hints comes before tables are looked up, where Spark would ask
 * the catalog for a Changelog. */
package org.apache.spark.sql.sqlext

import io.sqlext.{Bridge, Catalog}
import org.apache.spark.sql.catalyst.analysis.{RelationChanges, UnresolvedRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{ChangelogContext, ChangelogRange}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

object ChangesClause extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperators {
    case changes @ RelationChanges(table: UnresolvedRelation, context) if !table.isStreaming =>
      val name = SparkInternals.nameInCatalog(table.multipartIdentifier)
      if (Catalog.holds(name)) query(name, context, table.options.asCaseSensitiveMap.asScala.toMap) else changes
  }

  private def query(name: Seq[String], context: ChangelogContext, options: Map[String, String]): LogicalPlan = {
    val (from, to) = context.range match {
      case versions: ChangelogRange.VersionRange =>
        (Map("version" -> versions.startingVersion), versions.endingVersion.toScala.map("version" -> _).toMap)
      case times: ChangelogRange.TimestampRange =>
        (Map("timestamp" -> times.startingTimestamp), times.endingTimestamp.toScala.map("timestamp" -> _).toMap)
      case _ => (Map.empty, Map.empty)
    }
    // Spark throws for the inclusiveness of a bound that there is none of.
    val inclusive = context.range match {
      case _: ChangelogRange.UnboundedRange => (true, true)
      case range => (range.startingBoundInclusive, range.endingBoundInclusive)
    }
    val answer = Bridge.ask("changes clause", Map(
      "table" -> name,
      "from" -> from,
      "to" -> to,
      "from_inclusive" -> inclusive._1,
      "to_inclusive" -> inclusive._2,
      "options" -> options,
      "mode" -> context.deduplicationMode.value,
      "updates" -> context.computeUpdates))
    SparkInternals.parsed(answer.get("sql").asText)
  }
}
