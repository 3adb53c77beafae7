/* `sqlext_theta_sketch(value)`, an aggregate function of Spark (TypedImperativeAggregate): the blob
 * `apache-datasketches-theta-v1` of Iceberg's statistics files, and the number of distinct values that it estimates.
 *
 * The sketch is that of the DataSketches library in Spark's jars. It is made as Iceberg's own Spark runtime makes it,
 * of family Alpha with the default seed and size, so that sketches of either can be united. Spark's own
 * `theta_sketch_agg` is not in 4.0, and takes values in other bytes than those of Iceberg's single values. */
package io.sqlext

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.datasketches.common.Family
import org.apache.datasketches.memory.Memory
import org.apache.datasketches.theta.{CompactSketch, SetOperation, Sketch, UpdateSketch}
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, GenericInternalRow}
import org.apache.spark.sql.catalyst.expressions.aggregate.{ImperativeAggregate, TypedImperativeAggregate}
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Nulls are not counted, nor are empty strings and binaries, of which the library has no hash. */
case class ThetaSketch(child: Expression, mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
    extends TypedImperativeAggregate[Sketch] with UnaryLike[Expression] {
  override def prettyName: String = "sqlext_theta_sketch"
  override def dataType: DataType = ThetaSketch.result
  override def nullable: Boolean = false

  override def createAggregationBuffer(): Sketch = UpdateSketch.builder.setFamily(Family.ALPHA).build()

  override def update(sketch: Sketch, row: InternalRow): Sketch = {
    val value = child.eval(row)
    if (value != null) sketch.asInstanceOf[UpdateSketch].update(bytes(value))
    sketch
  }

  override def merge(sketch: Sketch, other: Sketch): Sketch = SetOperation.builder.buildUnion.union(sketch, other)

  override def eval(sketch: Sketch): Any = {
    val compact = sketch.compact()
    new GenericInternalRow(Array[Any](compact.toByteArray, compact.getEstimate.toLong))
  }

  override def serialize(sketch: Sketch): Array[Byte] = sketch.compact().toByteArray
  override def deserialize(bytes: Array[Byte]): Sketch = CompactSketch.heapify(Memory.wrap(bytes))

  /** The binary single value (spec: Appendix D). Of a uuid it is 16 bytes, as which the caller gives it. */
  private lazy val bytes: Any => Array[Byte] = child.dataType match {
    case BooleanType => value => Array(if (value.asInstanceOf[Boolean]) 1.toByte else 0.toByte)
    case IntegerType | DateType => value => little(4).putInt(value.asInstanceOf[Int]).array
    case LongType | TimestampType | TimestampNTZType => value => little(8).putLong(value.asInstanceOf[Long]).array
    case FloatType => value => little(4).putFloat(value.asInstanceOf[Float]).array
    case DoubleType => value => little(8).putDouble(value.asInstanceOf[Double]).array
    case _: DecimalType => value => value.asInstanceOf[Decimal].toJavaBigDecimal.unscaledValue.toByteArray
    case _: StringType => value => value.asInstanceOf[UTF8String].toString.getBytes(UTF_8)
    case BinaryType => value => value.asInstanceOf[Array[Byte]]
    case other => throw new UnsupportedOperationException(s"no sketch of values of type ${other.sql}")
  }

  private def little(size: Int): ByteBuffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN)

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildInternal(newChild: Expression): Expression = copy(child = newChild)
}

object ThetaSketch {
  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_theta_sketch"),
    new ExpressionInfo(classOf[ThetaSketch].getName, "sqlext_theta_sketch"),
    { case Seq(value) => ThetaSketch(value) })

  private val result = StructType(Seq(StructField("sketch", BinaryType, nullable = false), StructField("ndv", LongType, nullable = false)))
}
