/* Spark 4.0: parameters are bound after a statement is parsed, so that the parser never gets them, and a parse error
 * has the place where its text ends. */
package org.apache.spark.sql.sqlext

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.analysis.{NamedParameter, Parameter, PosParameter}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.Origin

import scala.jdk.CollectionConverters._

object ParsedStatements {
  /** What `parse` makes of the text; if that has parameters, a plan in which Spark can bind them. */
  def withParameters(text: String, arguments: Seq[AnyRef])(parse: String => Option[LogicalPlan]): Option[LogicalPlan] =
    parse(text).map { statement =>
      val markers = ParameterMarkers.in(text)
      if (markers.isEmpty) statement
      else UnboundStatement(text, markers, markers.map(m => m.name.map(NamedParameter(_)).getOrElse(PosParameter(m.start))))
    }

  def inject(extensions: SparkSessionExtensions): Unit = extensions.injectPostHocResolutionRule(_ => BoundStatements)

  def parseError(e: SparkThrowable, place: Origin): ParseException =
    new ParseException(None, place, place, e.getCondition, e.getMessageParameters.asScala.toMap, e.getQueryContext)
}

/** A statement of ours whose markers have `values`, each a Parameter until Spark binds it. */
case class UnboundStatement(text: String, markers: Seq[ParameterMarker], values: Seq[Expression]) extends LeafNode {
  override def output: Seq[Attribute] = Nil
  override lazy val resolved: Boolean = false
}

object BoundStatements extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case UnboundStatement(text, markers, values) if !values.exists(_.isInstanceOf[Parameter]) =>
      SparkInternals.parsed(ParameterMarkers.substituted(text, markers.zip(values)))
  }
}
