package io.sqlext

import java.util.Base64

import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.sources._
import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

/** Spark's pushed filters as JSON: ["=", column, value], ["and", left, right]. What has no form is left out. */
object FilterJson {
  def encode(filter: Filter): Option[Seq[Any]] = filter match {
    case EqualTo(column, v) => compare("=", column, v)
    case EqualNullSafe(column, null) => Some(Seq("is null", column))
    case EqualNullSafe(column, v) => compare("=", column, v).map(Seq("and", Seq("not null", column), _)) // false of null
    case GreaterThan(column, v) => compare(">", column, v)
    case GreaterThanOrEqual(column, v) => compare(">=", column, v)
    case LessThan(column, v) => compare("<", column, v)
    case LessThanOrEqual(column, v) => compare("<=", column, v)
    case In(column, values) if values.forall(_ != null) => Some(Seq("in", column, values.toSeq.map(encodeValue)))
    case IsNull(column) => Some(Seq("is null", column))
    case IsNotNull(column) => Some(Seq("not null", column))
    case StringStartsWith(column, prefix) => Some(Seq("starts with", column, prefix))
    case And(l, r) => (encode(l), encode(r)) match {
      case (Some(a), Some(b)) => Some(Seq("and", a, b))
      case (a, b) => a.orElse(b)
    }
    case Or(l, r) => for (a <- encode(l); b <- encode(r)) yield Seq("or", a, b)
    case Not(inner) if exact(inner) => encode(inner).map(Seq("not", _))
    case _ => None
  }

  /** The filter, if it has a form that selects just the same rows. */
  def encodeExactly(filter: Filter): Option[Seq[Any]] = if (exact(filter)) encode(filter) else None

  /** A negation may only stand over a filter that `encode` renders without weakening it. */
  private def exact(filter: Filter): Boolean = filter match {
    case And(l, r) => exact(l) && exact(r)
    case Or(l, r) => exact(l) && exact(r)
    case Not(inner) => exact(inner)
    case other => encode(other).isDefined
  }

  private def compare(operator: String, column: String, v: Any): Option[Seq[Any]] =
    if (v == null) None else Some(Seq(operator, column, encodeValue(v)))

  private def encodeValue(v: Any): Any = CatalystTypeConverters.convertToCatalyst(v) match {
    case text: UTF8String => text.toString
    case number: Decimal => Map("decimal" -> number.toJavaBigDecimal.toPlainString)
    case bytes: Array[Byte] => Map("binary" -> Base64.getEncoder.encodeToString(bytes))
    case number: Double if number.isNaN || number.isInfinite => Map("float" -> number.toString)
    case number: Float if number.isNaN || number.isInfinite => Map("float" -> number.toString)
    case other => other
  }
}
