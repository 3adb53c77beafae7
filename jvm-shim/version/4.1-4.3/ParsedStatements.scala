/* Spark 4.1 and later: the parser gets a statement with its parameters. */
package org.apache.spark.sql.sqlext

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.parser.{HybridParameterContext, NamedParameterContext, ParseException, PositionalParameterContext}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.errors.QueryCompilationErrors

import scala.jdk.CollectionConverters._

object ParsedStatements {
  /** What `parse` makes of the text with the values of its parameters, which are among the arguments of the parser's
    * method if it has any. */
  def withParameters(text: String, arguments: Seq[AnyRef])(parse: String => Option[LogicalPlan]): Option[LogicalPlan] = {
    lazy val markers = ParameterMarkers.in(text)
    val values = arguments.flatMap {
      case NamedParameterContext(values) if values.nonEmpty => named(markers, values)
      case PositionalParameterContext(values) if values.nonEmpty => markers.filter(_.name.isEmpty).zip(values)
      case HybridParameterContext(values, names) if values.nonEmpty && markers.exists(_.name.nonEmpty) =>
        val unnamed = values.zip(names).collect { case (value, "") => value }
        if (unnamed.nonEmpty) throw QueryCompilationErrors.invalidQueryAllParametersMustBeNamed(unnamed)
        named(markers, names.zip(values).toMap)
      case HybridParameterContext(values, _) if values.nonEmpty => markers.zip(values)
      case _ => Nil
    }
    parse(ParameterMarkers.substituted(text, values))
  }

  private def named(markers: Seq[ParameterMarker], values: Map[String, Expression]): Seq[(ParameterMarker, Expression)] =
    markers.flatMap(marker => marker.name.flatMap(values.get).map(marker -> _))

  def inject(extensions: SparkSessionExtensions): Unit = ()

  def parseError(e: SparkThrowable, place: Origin): ParseException =
    new ParseException(None, place, e.getCondition, e.getMessageParameters.asScala.toMap, e.getQueryContext)
}
