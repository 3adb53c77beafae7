package io.sqlext

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.functions.{BoundFunction, ScalarFunction, UnboundFunction}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** The bucket transform as a function of the catalog: equal functions on both sides of a join bucket them alike. */
class BucketFunction extends UnboundFunction {
  override def name: String = "bucket"
  override def description: String = "bucket(n, value): the bucket of n that Iceberg puts the value in"

  override def bind(input: StructType): BoundFunction = input.fields.map(_.dataType) match {
    case Array(IntegerType, value) if supported(value) => BoundBucket(value)
    case _ => throw new UnsupportedOperationException(s"bucket does not take ${input.simpleString}")
  }

  private def supported(value: DataType): Boolean = value match {
    case IntegerType | LongType | DateType | TimestampType | TimestampNTZType | StringType | BinaryType => true
    case _ => false
  }
}

private case class BoundBucket(value: DataType) extends ScalarFunction[Integer] {
  override def inputTypes: Array[DataType] = Array(IntegerType, value)
  override def resultType: DataType = IntegerType
  override def name: String = "bucket"
  override def canonicalName: String = s"io.sqlext.bucket(${value.catalogString})"

  override def produceResult(input: InternalRow): Integer =
    if (input.isNullAt(1)) null
    else {
      val hash = value match {
        case IntegerType | DateType => Murmur3_x86_32.hashLong(input.getInt(1), 0)
        case StringType => BucketHash.ofText(input.getUTF8String(1))
        case BinaryType => BucketHash.ofBytes(input.getBinary(1))
        case _ => Murmur3_x86_32.hashLong(input.getLong(1), 0)
      }
      (hash & Int.MaxValue) % input.getInt(0)
    }
}
