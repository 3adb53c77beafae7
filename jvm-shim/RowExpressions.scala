package io.sqlext

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, ExpressionInfo, Generator, WindowExpression}
import org.apache.spark.sql.types.{BooleanType, NullType}

/** Values and conditions of a statement that changes rows. Each sees one row; what Spark would tell of the SQL around
  * them is told of the user's own expression. */
object RowExpressions {

  /** `sqlext_condition(expression, 'clause')`: the expression, if it is a condition. */
  val condition: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_condition"),
    new ExpressionInfo(classOf[Expression].getName, "sqlext_condition"),
    {
      case Seq(value, clause) =>
        val place = clause.eval().toString
        requireOneRow(value, place)
        value.dataType match {
          case BooleanType => value
          case NullType => Cast(value, BooleanType)
          case other => refuse(place, value, "is" -> other.sql)
        }
    })

  def requireOneRow(value: Expression, place: String): Unit = value.foreach {
    case several: Generator => refuse(place, several, "makes" -> "rows")
    case window: WindowExpression => refuse(place, window, "sees" -> "rows")
    case _ =>
  }

  private def refuse(place: String, expression: Expression, fault: (String, String)): Nothing = {
    Bridge.ask("refuse expression", Map("place" -> place, "expression" -> expression.sql, fault))
    throw new IllegalStateException(s"$place was not refused")
  }
}
