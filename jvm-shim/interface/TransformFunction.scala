/* Iceberg's partition transforms as functions of the catalog (Spark's UnboundFunction and ScalarFunction), as in
 * `catalog.system.bucket(8, id)`: equal functions on both sides of a join say that their tables are partitioned alike,
 * and a filter on one selects partitions. */
package io.sqlext

import java.time.LocalDate

import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{ApplyFunctionExpression, Expression, ExpressionInfo}
import org.apache.spark.sql.connector.catalog.functions.{BoundFunction, ScalarFunction, UnboundFunction}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.hash.Murmur3_x86_32
import org.apache.spark.unsafe.types.UTF8String

class TransformFunction private (override val name: String, bound: PartialFunction[Seq[DataType], ScalarFunction[_]]) extends UnboundFunction {
  override def description: String = s"$name: a partition transform of Iceberg"

  override def bind(input: StructType): BoundFunction =
    bound.applyOrElse(input.fields.map(f => TransformFunction.widened(f.dataType)).toSeq,
      (_: Seq[DataType]) => throw new UnsupportedOperationException(s"$name does not take ${input.catalogString}"))
}

object TransformFunction {
  private val microsOfHour = 3600L * 1000000L

  private val all: Map[String, TransformFunction] = Seq(
    new TransformFunction("bucket", { case Seq(IntegerType, value) if isBucketed(value) => Bucket(value) }),
    new TransformFunction("truncate", { case Seq(IntegerType, value) if isTruncated(value) => Truncate(value) }),
    new TransformFunction("years", { case Seq(value) if isTime(value) =>
      OfTime("years", value, IntegerType, units => date(value, units).getYear - 1970) }),
    new TransformFunction("months", { case Seq(value) if isTime(value) => OfTime("months", value, IntegerType, units => {
      val day = date(value, units)
      (day.getYear - 1970) * 12 + day.getMonthValue - 1
    }) }),
    new TransformFunction("days", { case Seq(value) if isTime(value) => OfTime("days", value, DateType, units => days(value, units).toInt) }),
    new TransformFunction("hours", { case Seq(value) if isTime(value) && value != DateType =>
      OfTime("hours", value, IntegerType, units => math.floorDiv(units, microsOfHour).toInt) }),
    new TransformFunction("iceberg_version", { case Seq() => Version })
  ).map(f => f.name -> f).toMap

  /** `sqlext_bucket(n, value)`: bucket where no catalog is known, to bring rows of one bucket together. */
  val bucket: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_bucket"),
    new ExpressionInfo(classOf[TransformFunction].getName, "sqlext_bucket"),
    { case arguments @ Seq(_, value) => ApplyFunctionExpression(Bucket(value.dataType), arguments) })

  def names: Seq[String] = all.keys.toSeq.sorted

  def find(name: String): Option[TransformFunction] = all.get(name.toLowerCase)

  def isOurs(canonicalName: String): Boolean = canonicalName.startsWith(prefix)

  private val prefix = "io.sqlext."

  private def widened(dataType: DataType): DataType = dataType match {
    case ByteType | ShortType => IntegerType
    case other => other
  }

  private def isTime(value: DataType) = value match {
    case DateType | TimestampType | TimestampNTZType => true
    case _ => false
  }

  private def isTruncated(value: DataType) = value match {
    case IntegerType | LongType | StringType | BinaryType | _: DecimalType => true
    case _ => false
  }

  private def isBucketed(value: DataType) = isTruncated(value) || isTime(value)

  private def days(value: DataType, units: Long): Long = if (value == DateType) units else math.floorDiv(units, 24 * microsOfHour)

  private def date(value: DataType, units: Long): LocalDate = LocalDate.ofEpochDay(days(value, units))

  private abstract class Scalar[R](override val name: String, types: DataType*) extends ScalarFunction[R] {
    override def inputTypes: Array[DataType] = types.toArray
    override def toString: String = name
    override def canonicalName: String = s"$prefix$name(${types.map(_.catalogString).mkString(", ")})"
  }

  private case class Bucket(value: DataType) extends Scalar[Integer]("bucket", IntegerType, value) {
    override def resultType: DataType = IntegerType
    override def produceResult(input: InternalRow): Integer =
      if (input.isNullAt(0) || input.isNullAt(1)) null
      else {
        val hash = value match {
          case IntegerType | DateType => Murmur3_x86_32.hashLong(input.getInt(1), 0)
          case StringType => bytesHash(input.getUTF8String(1).getBytes)
          case BinaryType => bytesHash(input.getBinary(1))
          case d: DecimalType => bytesHash(input.getDecimal(1, d.precision, d.scale).toJavaBigDecimal.unscaledValue.toByteArray)
          case _ => Murmur3_x86_32.hashLong(input.getLong(1), 0)
        }
        (hash & Int.MaxValue) % input.getInt(0)
      }

    private def bytesHash(value: Array[Byte]): Int =
      Murmur3_x86_32.hashUnsafeBytes2(value, Platform.BYTE_ARRAY_OFFSET, value.length, 0)
  }

  private case class Truncate(value: DataType) extends Scalar[Any]("truncate", IntegerType, value) {
    override def resultType: DataType = value
    override def produceResult(input: InternalRow): Any =
      if (input.isNullAt(0) || input.isNullAt(1)) null
      else {
        val width = input.getInt(0)
        value match {
          case IntegerType => val n = input.getInt(1); n - math.floorMod(n, width)
          case LongType => val n = input.getLong(1); n - math.floorMod(n, width.toLong)
          case StringType => input.getUTF8String(1).substring(0, width)
          case BinaryType => input.getBinary(1).take(width)
          case d: DecimalType =>
            val unscaled = input.getDecimal(1, d.precision, d.scale).toJavaBigDecimal.unscaledValue
            Decimal(new java.math.BigDecimal(unscaled.subtract(unscaled.mod(java.math.BigInteger.valueOf(width))), d.scale), d.precision, d.scale)
        }
      }
  }

  private case class OfTime(transform: String, value: DataType, override val resultType: DataType, of: Long => Int)
      extends Scalar[Integer](transform, value) {
    override def produceResult(input: InternalRow): Integer =
      if (input.isNullAt(0)) null else of(if (value == DateType) input.getInt(0) else input.getLong(0))
  }

  /** Who answers where Iceberg's runtime would name its release. */
  private case object Version extends Scalar[UTF8String]("iceberg_version") {
    private val text = UTF8String.fromString("sqlext")
    override def resultType: DataType = StringType
    override def produceResult(input: InternalRow): UTF8String = text
  }
}
