/* The table function `table_changes('table', from, to, mode)`: what Python says it is, as a query that Spark goes on
 * to resolve, and rows of it that Python has computed. */
package io.sqlext

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, NamedArgumentExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.{ArrowRows, SparkInternals}
import org.apache.spark.sql.types.{DataType, StructType, TimestampNTZType, TimestampType}

import scala.jdk.CollectionConverters._

object TableChanges {
  /** The relation in Python's query whose rows come with it. */
  private val told = "__sqlext_told_changes"

  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan) = (
    FunctionIdentifier("table_changes"),
    new ExpressionInfo(classOf[LogicalPlan].getName, "table_changes"),
    given => plan(given))

  private def plan(given: Seq[Expression]): LogicalPlan = {
    def refuse(reason: String): Unit = Bridge.ask("table changes", Map("refused" -> reason))
    if (given.isEmpty) refuse("it is given no table")
    if (given.length > 4) refuse(s"it is given ${given.length} arguments, and takes four at most")
    given.foreach {
      case named: NamedArgumentExpression => refuse(s"the argument ${named.key} is given by name")
      case other => if (!other.foldable) refuse(s"${other.sql} is no constant")
    }
    val values = given.map(e => Option(e.eval()).map(value => e.dataType -> value))
    if (values.head.isEmpty) refuse("the table's name is null")
    def place(number: Int): Map[String, Any] = values.lift(number).flatten match {
      case None => Map.empty
      case Some((TimestampType | TimestampNTZType, microseconds)) => Map("timestamp" -> microseconds)
      case Some((_, other)) => Map("version" -> other.toString)
    }
    val answer = Bridge.ask("table changes", Map(
      "table" -> SparkInternals.nameInCatalog(values.head.map(_._2.toString).getOrElse("")),
      "from" -> place(1),
      "to" -> place(2),
      "mode" -> values.lift(3).flatten.map(_._2.toString).orNull,
      "plan_settings" -> Bridge.planSettings(SQLConf.get.getAllConfs)))
    val rows = Option(answer.get("rows")).toSeq.flatMap(_.elements.asScala)
    SparkInternals.parsed(answer.get("sql").asText).transform {
      case UnresolvedRelation(Seq(`told`, number), _, _) => relation(rows(number.toInt))
    }
  }

  private def relation(rows: JsonNode): LogicalPlan = {
    val schema = DataType.fromJson(rows.get("schema").toString).asInstanceOf[StructType]
    ArrowRows.relation(schema, rows.get("batches"))
  }
}
