package io.sqlext

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, UnscaledValue}

/** `sqlext_unscaled(decimal)`: the digits of a decimal of up to 18 of them as a BIGINT.
  *
  * Spark puts each decimal into Arrow through a BigDecimal, which was half of the cost of handing rows to Python. */
object UnscaledDecimal {
  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_unscaled"),
    new ExpressionInfo(classOf[UnscaledValue].getName, "sqlext_unscaled"),
    { case Seq(value) => UnscaledValue(value) })
}
