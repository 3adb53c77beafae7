package io.sqlext

import java.util.UUID

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData, MapData}
import org.apache.spark.sql.execution.vectorized.WritableColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized._
import org.apache.spark.unsafe.types.UTF8String

/** Values as Parquet has them, where the table's type is another: the 16 bytes of a uuid are a string to Spark.
  *
  * `stored` and `shown` have the same shape; they differ where a leaf is binary in the one and a string in the other. */
object StoredValues {
  def text(bytes: Array[Byte]): UTF8String = {
    val buffer = java.nio.ByteBuffer.wrap(bytes)
    UTF8String.fromString(new UUID(buffer.getLong(), buffer.getLong()).toString)
  }

  def shown(row: InternalRow, stored: StructType, shownAs: StructType): InternalRow = {
    val values = new Array[Any](stored.length)
    for (i <- stored.indices) values(i) =
      if (row.isNullAt(i)) null else value(row.get(i, stored(i).dataType), stored(i).dataType, shownAs(i).dataType)
    new GenericInternalRow(values)
  }

  /** Whether values stored as the one are those shown as the other; names of fields do not matter. */
  def same(stored: DataType, shownAs: DataType): Boolean = (stored, shownAs) match {
    case (s: StructType, t: StructType) => s.indices.forall(i => same(s(i).dataType, t(i).dataType))
    case (a: ArrayType, t: ArrayType) => same(a.elementType, t.elementType)
    case (m: MapType, t: MapType) => same(m.keyType, t.keyType) && same(m.valueType, t.valueType)
    case _ => stored == shownAs
  }

  private def value(value: Any, stored: DataType, shownAs: DataType): Any = (stored, shownAs) match {
    case (s, t) if same(s, t) => value
    case (BinaryType, StringType) => text(value.asInstanceOf[Array[Byte]])
    case (s: StructType, t: StructType) => shown(value.asInstanceOf[InternalRow], s, t)
    case (a: ArrayType, t: ArrayType) => elements(value.asInstanceOf[ArrayData], a.elementType, t.elementType)
    case (m: MapType, t: MapType) =>
      val map = value.asInstanceOf[MapData]
      new ArrayBasedMapData(elements(map.keyArray, m.keyType, t.keyType), elements(map.valueArray, m.valueType, t.valueType))
    case _ => value
  }

  private def elements(array: ArrayData, stored: DataType, shownAs: DataType): ArrayData =
    new GenericArrayData(Array.tabulate[Any](array.numElements)(i =>
      if (array.isNullAt(i)) null else value(array.get(i, stored), stored, shownAs)))

  def shown(batch: ColumnarBatch, shownAs: Seq[DataType]): ColumnarBatch = {
    val vectors = shownAs.indices.map(i => shown(batch.column(i), shownAs(i)))
    new ColumnarBatch((vectors ++ (shownAs.length until batch.numCols).map(batch.column)).toArray, batch.numRows)
  }

  private def shown(vector: ColumnVector, dataType: DataType): ColumnVector =
    if (same(vector.dataType, dataType)) vector else new ShownVector(vector.asInstanceOf[WritableColumnVector], dataType)

  private class ShownVector(stored: WritableColumnVector, shownAs: DataType) extends ColumnVector(shownAs) {
    private lazy val children: IndexedSeq[ColumnVector] = (shownAs match {
      case s: StructType => s.map(_.dataType)
      case a: ArrayType => Seq(a.elementType)
      case m: MapType => Seq(m.keyType, m.valueType)
      case _ => Nil
    }).zipWithIndex.map { case (t, i) => StoredValues.shown(stored.getChild(i), t) }.toIndexedSeq

    override def getUTF8String(row: Int): UTF8String = if (stored.isNullAt(row)) null else text(stored.getBinary(row))
    override def getChild(ordinal: Int): ColumnVector = children(ordinal)
    override def getArray(row: Int): ColumnarArray =
      new ColumnarArray(children(0), stored.getArrayOffset(row), stored.getArrayLength(row))
    override def getMap(row: Int): ColumnarMap =
      new ColumnarMap(children(0), children(1), stored.getArrayOffset(row), stored.getArrayLength(row))
    override def close(): Unit = stored.close()
    override def closeIfFreeable(): Unit = stored.closeIfFreeable()
    override def hasNull: Boolean = stored.hasNull
    override def numNulls: Int = stored.numNulls
    override def isNullAt(row: Int): Boolean = stored.isNullAt(row)
    override def getBoolean(row: Int): Boolean = stored.getBoolean(row)
    override def getByte(row: Int): Byte = stored.getByte(row)
    override def getShort(row: Int): Short = stored.getShort(row)
    override def getInt(row: Int): Int = stored.getInt(row)
    override def getLong(row: Int): Long = stored.getLong(row)
    override def getFloat(row: Int): Float = stored.getFloat(row)
    override def getDouble(row: Int): Double = stored.getDouble(row)
    override def getDecimal(row: Int, precision: Int, scale: Int): Decimal = stored.getDecimal(row, precision, scale)
    override def getBinary(row: Int): Array[Byte] = stored.getBinary(row)
  }
}
