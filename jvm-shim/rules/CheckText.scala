/* What the text of a CHECK holds, as the session's parser reads it. Nothing of it is analysed, so nothing runs: its
 * text may come from anywhere. Python says what may stand there (`sqlext.sql.check_text`). */
package io.sqlext

import scala.collection.mutable

import org.apache.spark.sql.{SparkSession, classic}
import org.apache.spark.sql.catalyst.analysis.{Star, UnresolvedFunction}
import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.trees.TreePattern

object CheckText {
  /** JSON: the `parts` of the expression, outer ones first, by the names of Spark's classes and functions; or the
    * condition of the `error` in it. */
  def parts(session: SparkSession, text: String): String = Bridge.encode(
    try Map("parts" -> nodes(session.asInstanceOf[classic.SparkSession].sessionState.sqlParser.parseExpression(text)).map(described))
    catch { case error: ParseException => Map("error" -> error.getCondition) })

  /** By a list of what is still to be looked at: an expression may be deep. */
  private def nodes(expression: Expression): Seq[Expression] = {
    val left = mutable.Stack(expression)
    val found = Seq.newBuilder[Expression]
    while (left.nonEmpty) {
      val one = left.pop()
      found += one
      left.pushAll(one.children.reverse)
    }
    found.result()
  }

  private def described(one: Expression): Map[String, Any] = Map(
    "kind" -> one.getClass.getSimpleName,
    "name" -> one.prettyName,
    "holds_subquery" -> (one.isInstanceOf[PlanExpression[_]] || one.containsPattern(TreePattern.PLAN_EXPRESSION)),
    "is_star" -> one.isInstanceOf[Star]) ++ (one match {
      case f: UnresolvedFunction => Map("function" -> f.nameParts, "aggregates" -> (f.isDistinct || f.filter.isDefined))
      case _ => Map.empty
    })
}
