/* The condition of `SELECT … FROM table WHERE …` as a predicate of Spark's data source interface that selects just the
 * same rows, by the rules of Spark's optimiser that simplify conditions. */
package io.sqlext

import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.sqlext.SparkInternals

import scala.util.control.NonFatal

object ExactFilter {
  private val simplified: Seq[Rule[LogicalPlan]] = Seq(ReplaceExpressions, RewriteWithExpression, ComputeCurrentTime, ConstantFolding, NullPropagation, OptimizeIn,
    SimplifyCasts, UnwrapCastInBinaryComparison, BooleanSimplification, SimplifyBinaryComparison, ConstantFolding, BooleanSimplification)

  /** Its JSON, or null where it has no such form. One that cannot be evaluated has none: it fails where rows are
    * read. */
  def of(query: DataFrame): String = try described(query) catch { case NonFatal(_) => null }

  private def described(query: DataFrame): String =
    query.asInstanceOf[classic.Dataset[_]].queryExecution.analyzed match {
      case Project(_, Filter(condition, _)) if condition.deterministic && !SubqueryExpression.hasSubquery(condition) =>
        SparkInternals.translateFilter(simple(condition)).flatMap(PredicateJson.encodeExactly).map(Bridge.json.writeValueAsString).orNull
      case _ => null
    }

  private def simple(condition: Expression): Expression = {
    val columns = condition.references.toSeq.collect { case a: AttributeReference => a }
    val start: LogicalPlan = Filter(condition, LocalRelation(columns))
    simplified.foldLeft(start)((plan, rule) => rule(plan)) match {
      case Filter(left, _) => left
      case _ => condition
    }
  }
}
