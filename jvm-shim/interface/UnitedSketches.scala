/* `sqlext_united(kind, values)`, a scalar function of Spark: the union of serialized sketches or bitmaps, for tables
 * whose merge engine aggregates them. The kinds are Paimon's aggregate functions.
 *
 * Sketches are those of the DataSketches library, bitmaps those of RoaringBitmap; both are in Spark's jars. Spark's own
 * `theta_union_agg` is not in 4.0, and its `hll_union_agg` gives sketches of twice the size. A 64-bit bitmap is in the
 * portable format of RoaringFormatSpec, which other languages read, and not in that of Java's Roaring64Bitmap. */
package io.sqlext

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream, IOException}
import java.nio.ByteBuffer

import org.apache.datasketches.hll.{HllSketch, TgtHllType, Union}
import org.apache.datasketches.memory.Memory
import org.apache.datasketches.theta.{CompactSketch, SetOperation}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{ArrayType, BinaryType, StringType}
import org.apache.spark.unsafe.types.UTF8String
import org.roaringbitmap.RoaringBitmap
import org.roaringbitmap.longlong.Roaring64NavigableMap

import scala.util.control.NonFatal

object UnitedSketches {
  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_united"),
    new ExpressionInfo(UnitedSketches.getClass.getName, "sqlext_united"),
    { case Seq(kind, values) =>
      StaticInvoke(UnitedSketches.getClass, BinaryType, "united", Seq(kind, values), Seq(StringType, ArrayType(BinaryType)))
    })

  /** The union of the values, of which none is null; null if there is none, or one that cannot be read as the kind. */
  def united(kind: UTF8String, values: ArrayData): Array[Byte] = {
    val all = (0 until values.numElements).map(values.getBinary)
    if (all.isEmpty) null
    else
      try of(kind.toString)(all)
      catch { case NonFatal(_) => null }
  }

  private val of: Map[String, Seq[Array[Byte]] => Array[Byte]] =
    Map("theta_sketch" -> theta, "hll_sketch" -> hll, "rbm32" -> bitmap, "rbm64" -> longBitmap)

  private def theta(values: Seq[Array[Byte]]): Array[Byte] = {
    val union = SetOperation.builder.buildUnion
    values.foreach(value => union.union(CompactSketch.heapify(Memory.wrap(value))))
    union.getResult.toByteArray
  }

  /** Of the least precise sketch's precision, from 2^7 registers on, as which other languages unite them too. */
  private def hll(values: Seq[Array[Byte]]): Array[Byte] = {
    val sketches = values.map(HllSketch.heapify(_: Array[Byte]))
    val union = new Union(math.max(sketches.map(_.getLgConfigK).min, 7))
    sketches.foreach(union.update)
    union.getResult(TgtHllType.HLL_4).toCompactByteArray
  }

  private def bitmap(values: Seq[Array[Byte]]): Array[Byte] = {
    val union = new RoaringBitmap
    for (value <- values) {
      val one = new RoaringBitmap
      one.deserialize(ByteBuffer.wrap(value))
      union.or(one)
    }
    union.runOptimize()
    val bytes = ByteBuffer.allocate(union.serializedSizeInBytes)
    union.serialize(bytes)
    bytes.array
  }

  private def longBitmap(values: Seq[Array[Byte]]): Array[Byte] = {
    val union = new Roaring64NavigableMap
    for (value <- values) {
      // The library takes a negative number of parts for none.
      if (value.length < 8 || value(7) < 0) throw new IOException("no number of parts")
      val one = new Roaring64NavigableMap
      one.deserializePortable(new DataInputStream(new ByteArrayInputStream(value)))
      union.or(one)
    }
    union.runOptimize()
    val bytes = new ByteArrayOutputStream
    union.serializePortable(new DataOutputStream(bytes))
    bytes.toByteArray
  }
}
