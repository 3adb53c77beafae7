/* Rows of a file without those that its deletion vector has: batches that Spark's reader gives are passed on with
 * their live rows. A file without a vector is read as it is, positions of rows and all. */
package io.sqlext

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized._
import org.apache.spark.unsafe.types.UTF8String

object LiveRows {
  /** The key, among a file's constants, of its deletion vector. */
  val key = "sqlext_deletion_vector"

  /** A reader of the columns that `plain` gives. `positioned` is for files with a vector: it gives `columns`, which
    * have the position of the row at `positionAt`; unless it `isWanted`, nobody else needs it. */
  def reader(plain: PartitionedFile => Iterator[InternalRow], positioned: PartitionedFile => Iterator[InternalRow],
      columns: StructType, positionAt: Int, isWanted: Boolean): PartitionedFile => Iterator[InternalRow] = {
    val shown = columns.indices.filter(i => isWanted || i != positionAt).toArray
    val types = columns.map(_.dataType).toArray
    file => file.otherConstantMetadataColumnValues.get(key) match {
      case Some(vector: Array[Byte]) =>
        new LiveRows(positioned(file), new DecodedVector(vector), positionAt, shown, types).asInstanceOf[Iterator[InternalRow]]
      case _ => plain(file)
    }
  }
}

/** `positionAt` is where the position of a row is among its columns. */
private class LiveRows(read: Iterator[Any], deleted: DecodedVector, positionAt: Int, shown: Array[Int], types: Array[DataType])
    extends OpenRows(read) {
  private var ahead: Option[Any] = None

  override def hasNext: Boolean = {
    while (ahead.isEmpty && read.hasNext) ahead = read.next() match {
      case batch: ColumnarBatch => live(batch)
      case row: InternalRow =>
        Option.unless(deleted.contains(row.getLong(positionAt)))(projected(row))
    }
    ahead.isDefined
  }

  override def next(): Any = {
    if (!hasNext) throw new NoSuchElementException
    val one = ahead.get
    ahead = None
    one
  }

  private def live(batch: ColumnarBatch): Option[ColumnarBatch] = {
    val rows = liveRows(batch)
    if (rows.isEmpty) None
    else if (rows.length == batch.numRows) Some(new ColumnarBatch(shown.map(batch.column), batch.numRows))
    else Some(new ColumnarBatch(shown.map(i => SelectedRows.of(batch.column(i), rows)), rows.length))
  }

  /** The numbers of those rows of a batch that are not deleted. */
  private def liveRows(batch: ColumnarBatch): Array[Int] = {
    val count = batch.numRows
    def position(row: Int): Long = batch.column(positionAt).getLong(row)
    if (count == 0) Array.emptyIntArray
    else deleted.live(position(0), position(count - 1), count).getOrElse(
      (0 until count).filterNot(row => deleted.contains(position(row))).toArray)
  }

  private def projected(row: InternalRow): InternalRow =
    if (shown.length == types.length) row
    else new GenericInternalRow(shown.map(i => if (row.isNullAt(i)) null else row.get(i, types(i))))
}

private object SelectedRows {
  def of(vector: ColumnVector, rows: Array[Int]): ColumnVector = vector match {
    case constant: ConstantColumnVector => constant
    case other => new SelectedRows(other, rows)
  }
}

/** Some rows of a vector, by their numbers in it. */
private class SelectedRows(vector: ColumnVector, rows: Array[Int]) extends ColumnVector(vector.dataType) {
  /** Of a struct, or a type that is held as one: its children have the same rows. */
  override def getChild(ordinal: Int): ColumnVector = SelectedRows.of(vector.getChild(ordinal), rows)
  override def getArray(row: Int): ColumnarArray = vector.getArray(rows(row))
  override def getMap(row: Int): ColumnarMap = vector.getMap(rows(row))
  override def close(): Unit = vector.close()
  override def closeIfFreeable(): Unit = vector.closeIfFreeable()
  override def hasNull: Boolean = vector.hasNull
  override def numNulls: Int = if (vector.hasNull) rows.count(vector.isNullAt) else 0
  override def isNullAt(row: Int): Boolean = vector.isNullAt(rows(row))
  override def getBoolean(row: Int): Boolean = vector.getBoolean(rows(row))
  override def getByte(row: Int): Byte = vector.getByte(rows(row))
  override def getShort(row: Int): Short = vector.getShort(rows(row))
  override def getInt(row: Int): Int = vector.getInt(rows(row))
  override def getLong(row: Int): Long = vector.getLong(rows(row))
  override def getFloat(row: Int): Float = vector.getFloat(rows(row))
  override def getDouble(row: Int): Double = vector.getDouble(rows(row))
  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal = vector.getDecimal(rows(row), precision, scale)
  override def getUTF8String(row: Int): UTF8String = vector.getUTF8String(rows(row))
  override def getBinary(row: Int): Array[Byte] = vector.getBinary(rows(row))
}
