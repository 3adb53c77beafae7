/* Values as a file has them, where the table's are others: the 16 bytes of a uuid are a string to Spark, what no file
 * holds is null, and `absent` fields, which this file is older than, have their defaults by their ids. Batches are
 * shown through a ColumnVector of Spark's over that of its reader.
 *
 * Types `stored` and `shownAs` have the same shape, but that an array of pairs may be shown as a map. They differ
 * where a leaf is binary in the one and a string or void in the other; `stored` has the field ids. */
package io.sqlext

import java.util.UUID

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData, MapData}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.vectorized.{ColumnVectorUtils, ConstantColumnVector, WritableColumnVector}
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized._
import org.apache.spark.unsafe.types.UTF8String

class StoredValues(absent: Map[Long, Any]) {
  def shown(row: InternalRow, stored: StructType, shownAs: StructType): InternalRow = {
    val values = new Array[Any](stored.length)
    for (i <- stored.indices) values(i) =
      default(stored(i)).getOrElse(
        if (row.isNullAt(i)) null else value(row.get(i, stored(i).dataType), stored(i).dataType, shownAs(i).dataType))
    new GenericInternalRow(values)
  }

  def shown(batch: ColumnarBatch, stored: StructType, shownAs: StructType): ColumnarBatch = {
    val vectors = shownAs.indices.map(i => shown(batch.column(i), stored(i), shownAs(i).dataType))
    new ColumnarBatch((vectors ++ (shownAs.length until batch.numCols).map(batch.column)).toArray, batch.numRows)
  }

  /** Whether values stored as the one are those shown as the other; names of fields do not matter. */
  def same(stored: DataType, shownAs: DataType): Boolean = (stored, shownAs) match {
    case (s: StructType, t: StructType) =>
      s.indices.forall(i => default(s(i)).isEmpty && same(s(i).dataType, t(i).dataType))
    case (a: ArrayType, t: ArrayType) => same(a.elementType, t.elementType)
    case (m: MapType, t: MapType) => same(m.keyType, t.keyType) && same(m.valueType, t.valueType)
    case _ => stored == shownAs
  }

  private def default(field: StructField): Option[Any] = if (absent.isEmpty) None else FieldIds.id(field).flatMap(absent.get)

  private def value(value: Any, stored: DataType, shownAs: DataType): Any = (stored, shownAs) match {
    case (s, t) if same(s, t) => value
    case (_, NullType) => null
    case (BinaryType, StringType) => StoredValues.text(value.asInstanceOf[Array[Byte]])
    case (s: StructType, t: StructType) => shown(value.asInstanceOf[InternalRow], s, t)
    case (a: ArrayType, t: ArrayType) => elements(value.asInstanceOf[ArrayData], a.elementType, t.elementType)
    case (ArrayType(pair: StructType, _), t: MapType) =>
      val pairs = value.asInstanceOf[ArrayData]
      new ArrayBasedMapData(part(pairs, pair, 0, t.keyType), part(pairs, pair, 1, t.valueType))
    case (m: MapType, t: MapType) =>
      val map = value.asInstanceOf[MapData]
      new ArrayBasedMapData(elements(map.keyArray, m.keyType, t.keyType), elements(map.valueArray, m.valueType, t.valueType))
    case _ => value
  }

  private def elements(array: ArrayData, stored: DataType, shownAs: DataType): ArrayData =
    new GenericArrayData(Array.tabulate[Any](array.numElements)(i =>
      if (array.isNullAt(i)) null else value(array.get(i, stored), stored, shownAs)))

  /** The keys or the values of an array of pairs. */
  private def part(pairs: ArrayData, pair: StructType, at: Int, shownAs: DataType): ArrayData =
    new GenericArrayData(Array.tabulate[Any](pairs.numElements) { i =>
      val one = pairs.getStruct(i, 2)
      if (one.isNullAt(at)) null else value(one.get(at, pair(at).dataType), pair(at).dataType, shownAs)
    })

  private def shown(vector: ColumnVector, stored: StructField, shownAs: DataType): ColumnVector = default(stored) match {
    case Some(value) => constant(value, shownAs)
    case None => shown(vector, stored.dataType, shownAs)
  }

  private def shown(vector: ColumnVector, stored: DataType, shownAs: DataType): ColumnVector =
    if (same(stored, shownAs)) vector else new ShownVector(vector.asInstanceOf[WritableColumnVector], stored, shownAs)

  private def constant(value: Any, dataType: DataType): ColumnVector = {
    val vector = new ConstantColumnVector(1, dataType)
    ColumnVectorUtils.populate(vector, InternalRow(value), 0)
    vector
  }

  private class ShownVector(vector: WritableColumnVector, stored: DataType, shownAs: DataType) extends ColumnVector(shownAs) {
    private lazy val children: IndexedSeq[ColumnVector] = (stored, shownAs) match {
      case (s: StructType, t: StructType) => t.indices.map(i => shown(vector.getChild(i), s(i), t(i).dataType))
      case (s: ArrayType, t: ArrayType) => IndexedSeq(shown(vector.getChild(0), s.elementType, t.elementType))
      case (s: MapType, t: MapType) =>
        IndexedSeq(shown(vector.getChild(0), s.keyType, t.keyType), shown(vector.getChild(1), s.valueType, t.valueType))
      case _ => IndexedSeq.empty
    }

    override def getUTF8String(row: Int): UTF8String =
      if (vector.isNullAt(row)) null else StoredValues.text(vector.getBinary(row))
    override def getChild(ordinal: Int): ColumnVector = children(ordinal)
    override def getArray(row: Int): ColumnarArray =
      new ColumnarArray(children(0), vector.getArrayOffset(row), vector.getArrayLength(row))
    override def getMap(row: Int): ColumnarMap =
      new ColumnarMap(children(0), children(1), vector.getArrayOffset(row), vector.getArrayLength(row))
    override def close(): Unit = vector.close()
    override def closeIfFreeable(): Unit = vector.closeIfFreeable()
    override def hasNull: Boolean = vector.hasNull
    override def numNulls: Int = vector.numNulls
    override def isNullAt(row: Int): Boolean = vector.isNullAt(row)
    override def getBoolean(row: Int): Boolean = vector.getBoolean(row)
    override def getByte(row: Int): Byte = vector.getByte(row)
    override def getShort(row: Int): Short = vector.getShort(row)
    override def getInt(row: Int): Int = vector.getInt(row)
    override def getLong(row: Int): Long = vector.getLong(row)
    override def getFloat(row: Int): Float = vector.getFloat(row)
    override def getDouble(row: Int): Double = vector.getDouble(row)
    override def getDecimal(row: Int, precision: Int, scale: Int): Decimal = vector.getDecimal(row, precision, scale)
    override def getBinary(row: Int): Array[Byte] = vector.getBinary(row)
  }
}

object StoredValues {
  /** A reader of files whose rows or batches are of the file's columns `stored`, and then `constants`, as one of `shownAs`. */
  def shown(read: PartitionedFile => Iterator[InternalRow], absent: PartitionedFile => Map[Long, Any],
      stored: StructType, shownAs: StructType, constants: StructType): PartitionedFile => Iterator[InternalRow] = { file =>
    val values = new StoredValues(absent(file))
    val rows = read(file)
    if (values.same(stored, shownAs)) rows
    else {
      val whole = (StructType(stored ++ constants), StructType(shownAs ++ constants))
      OpenRows.mapped(rows) {
        case batch: ColumnarBatch => values.shown(batch, stored, shownAs)
        case row: InternalRow => values.shown(row, whole._1, whole._2)
      }
    }
  }

  def text(bytes: Array[Byte]): UTF8String = {
    val buffer = java.nio.ByteBuffer.wrap(bytes)
    UTF8String.fromString(new UUID(buffer.getLong(), buffer.getLong()).toString)
  }

  /** Whether there are columns of nulls only, which batches cannot show. */
  def holdVoid(shownAs: DataType): Boolean = SparkInternals.holds(shownAs)(_ == NullType)
}
