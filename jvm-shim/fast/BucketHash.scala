package io.sqlext

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{BitwiseAnd, Cast, Expression, ExpressionInfo, Literal, Murmur3Hash, Pmod, UnixDate}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.hash.Murmur3_x86_32
import org.apache.spark.unsafe.types.UTF8String

/** The bucket transform (spec: "Bucket Transform Details") as Spark sees it, to bring rows of one bucket together. */
class BucketHash

object BucketHash {

  /** `sqlext_bucket(n, value)`; a null has no bucket. */
  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_bucket"),
    new ExpressionInfo(classOf[BucketHash].getName, "sqlext_bucket"),
    { case Seq(count, value) => Pmod(BitwiseAnd(hash(value), Literal(Int.MaxValue)), count) })

  private def hash(value: Expression): Expression = value.dataType match {
    case IntegerType | LongType => Murmur3Hash(Seq(Cast(value, LongType)), 0)
    case DateType => Murmur3Hash(Seq(Cast(UnixDate(value), LongType)), 0)
    case StringType => bytesHash(value, "ofText")
    case BinaryType => bytesHash(value, "ofBytes")
    case _: DecimalType => StaticInvoke(classOf[BucketHash], IntegerType, "ofDecimal", Seq(value))
    case _ => Murmur3Hash(Seq(value), 0)
  }

  private def bytesHash(value: Expression, function: String): Expression =
    StaticInvoke(classOf[BucketHash], IntegerType, function, Seq(value))

  def ofText(value: UTF8String): Int = ofBytes(value.getBytes)

  def ofDecimal(value: Decimal): Int = ofBytes(value.toJavaBigDecimal.unscaledValue.toByteArray)

  def ofBytes(value: Array[Byte]): Int =
    Murmur3_x86_32.hashUnsafeBytes2(value, Platform.BYTE_ARRAY_OFFSET, value.length, 0)
}
