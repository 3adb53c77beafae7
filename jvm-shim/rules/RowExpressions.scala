/* Values and conditions of a statement that changes rows: `sqlext_condition`, a function of the SQL that stands in for
 * the statement, and what else has Python refuse an expression. Each sees one row; what Spark would tell of the SQL
 * around them is told of the user's own expression. */
package io.sqlext

import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, ExpressionInfo, Generator, WindowExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.{BooleanType, NullType}

object RowExpressions {

  /** `sqlext_condition(expression, 'clause')`: the expression, if it is a condition. */
  val condition: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_condition"),
    new ExpressionInfo(classOf[Expression].getName, "sqlext_condition"),
    {
      case Seq(value, clause) =>
        val place = clause.eval().toString
        requireCondition(value, place)
        value.dataType match {
          case BooleanType => value
          case NullType => Cast(value, BooleanType)
          case other => refuse(place, value, "is" -> other.sql)
        }
    })

  /** Refuses conditions of the query of a change, those of the rows that it selects and joins, that are no rule. */
  def requireConditions(query: DataFrame): Unit =
    conditions(query.asInstanceOf[classic.Dataset[_]].queryExecution.analyzed).foreach {
      case (place, condition) => requireCondition(condition, place)
    }

  /** Those of the query itself, none of a source that is a query too. */
  private def conditions(plan: LogicalPlan): Seq[(String, Expression)] = plan match {
    case join: Join => join.condition.map("ON" -> _).toSeq
    case Filter(condition, child) => ("WHERE" -> condition) +: conditions(child)
    case ctes: WithCTE => conditions(ctes.plan)
    case _: Project | _: SubqueryAlias => conditions(plan.children.head)
    case _ => Nil
  }

  /** A condition sees one row, and says the same of it each time. */
  def requireCondition(value: Expression, place: String): Unit = {
    requireOneRow(value, place)
    if (!value.deterministic) refuse(place, value, "differs" -> "each time")
  }

  def requireOneRow(value: Expression, place: String): Unit = value.foreach {
    case total: AggregateExpression => refuse(place, total, "sums up" -> "rows")
    case total: AggregateFunction => refuse(place, total, "sums up" -> "rows")
    case several: Generator => refuse(place, several, "makes" -> "rows")
    case window: WindowExpression => refuse(place, window, "sees" -> "rows")
    case _ =>
  }

  private def refuse(place: String, expression: Expression, fault: (String, String)): Nothing = {
    Bridge.ask("refuse expression", Map("place" -> place, "expression" -> expression.sql, fault))
    throw new IllegalStateException(s"$place was not refused")
  }
}
