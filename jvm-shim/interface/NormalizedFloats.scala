package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers

/** A value whose bytes are equal for equal values, as Spark makes the keys of its own groups and joins: floating-point
  * numbers, also in structs and arrays, may be -0.0 and 0.0, or NaNs of different bits. */
object NormalizedFloats {
  def of(value: Expression): Expression = NormalizeFloatingNumbers.normalize(value)
}
