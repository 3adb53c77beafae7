/* Rows on their way through a shuffle to the write tasks: packed before it, those of each task together. Spark would make
 * a row of the columns of a scan, hash, compress and read it by itself, and only then would it be packed. */
package io.sqlext

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, RepartitionByExpression, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import scala.jdk.CollectionConverters._

/** Packed values with the `task` of their rows: a number by whose hash Spark gives it to one of `tasks` partitions (None: as
  * many as the session shuffles to), the one that it would give rows with these values of `by`. */
case class RowsOfTasks(by: Seq[Expression], child: LogicalPlan, tasks: Option[Int], task: Attribute, packed: Attribute)
    extends UnaryNode {
  override def output: Seq[Attribute] = Seq(task, packed)
  override def references: AttributeSet = child.outputSet
  override def producedAttributes: AttributeSet = AttributeSet(output)
  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(child = newChild)
}

case class RowsOfTasksExec(by: Seq[Expression], child: SparkPlan, tasks: Int, task: Attribute, packed: Attribute)
    extends UnaryExecNode {
  override def output: Seq[Attribute] = Seq(task, packed)
  override def references: AttributeSet = child.outputSet
  override def producedAttributes: AttributeSet = AttributeSet(output)
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)

  /** Seen in Spark's UI. */
  override def nodeName: String = "Pack Rows by Task"

  override protected def doExecute(): RDD[InternalRow] = {
    val (columns, types) = (child.output, child.output.map(_.dataType).toArray)
    val number = HashPartitioning(by, tasks).partitionIdExpression
    val keys = RowsOfTasks.keys(tasks)
    val values = ScannedColumns.below(child).filter(_.areStored) match {
      case Some(scanned) =>
        scanned.execute().mapPartitions { batches =>
          val rows = new RowsByTask(types, UnsafeProjection.create(Seq(number), columns), keys)
          batches.flatMap(rows.add) ++ rows.rest
        }
      case None =>
        child.execute().mapPartitions { source =>
          val rows = new RowsByTask(types, UnsafeProjection.create(Seq(number), columns), keys)
          source.flatMap(rows.add) ++ rows.rest
        }
    }
    values.mapPartitions(_.map(UnsafeProjection.create(Array[DataType](IntegerType, BinaryType))))
  }
}

object RowsOfTasks {
  /** Whether rows go to tasks by a hash, all columns can be packed without Spark's ArrowWriter, and enough rows of each task
    * may wait: Python takes as long for a packed value of few rows as for one of some hundreds. */
  def canBePacked(spread: RepartitionByExpression): Boolean = {
    val columns = spread.child.output
    spread.partitioning.isInstanceOf[HashPartitioning] && columns.forall(one => Packing.hasOwnForm(one.dataType)) &&
      spread.numPartitions.toLong * columns.map(_.dataType.defaultSize).sum * RowsByTask.fewestRows <= RowsByTask.mostBytes
  }

  /** For each partition a number that Spark's hash gives to it. */
  def keys(partitions: Int): Array[Int] = {
    val found = Array.fill(partitions)(-1)
    var (missing, key) = (partitions, 0)
    while (missing > 0) {
      val place = Math.floorMod(Murmur3HashFunction.hash(key, IntegerType, 42).toInt, partitions)
      if (found(place) == -1) { found(place) = key; missing -= 1 }
      key += 1
    }
    found
  }
}

/** The rows of one task of Spark's, by the number of the write task that they go to. */
private class RowsByTask(types: Array[DataType], numberOf: UnsafeProjection, keys: Array[Int]) {
  private val columns = types.map(ColumnByTask.of(_, keys.length))
  private val counts = new Array[Int](keys.length)
  /** Of all that came since the last time that nothing waited. */
  private var bytes = 0L
  private var (numbers, places) = (new Array[Int](0), new Array[Int](0))

  /** What is packed since, which has to be taken before the next is added. */
  def add(row: InternalRow): Iterator[InternalRow] = {
    val number = numberOf(row).getInt(0)
    var i = 0
    while (i < columns.length) {
      bytes += columns(i).add(row, i, number, counts(number))
      i += 1
    }
    counts(number) += 1
    if (counts(number) >= RowsByTask.mostRows || bytes >= RowsByTask.mostBytes) due else Iterator.empty
  }

  /** Column by column. A batch of long texts goes row by row, so that it is packed as it grows. */
  def add(batch: ColumnarBatch): Iterator[InternalRow] = {
    val rows = batch.numRows
    val values = columns.indices.map(i => columns(i).read(batch.column(i), rows))
    if (values.map(_.size).sum > CollectedRows.mostBytes) batch.rowIterator.asScala.flatMap(add)
    else {
      if (numbers.length < rows) { numbers = new Array[Int](rows); places = new Array[Int](rows) }
      var row = 0
      while (row < rows) {
        val number = numberOf(batch.getRow(row)).getInt(0)
        numbers(row) = number
        places(row) = counts(number)
        counts(number) += 1
        row += 1
      }
      var i = 0
      while (i < columns.length) {
        columns(i).add(values(i), batch.column(i), rows, numbers, places, counts)
        bytes += values(i).size
        i += 1
      }
      due
    }
  }

  /** All that waits. */
  def rest: Iterator[InternalRow] = packed(1) ++ {
    columns.foreach(_.release())
    bytes = 0
    Iterator.empty
  }

  private def due: Iterator[InternalRow] = if (bytes >= RowsByTask.mostBytes) rest else packed(RowsByTask.mostRows)

  /** Where so many rows wait. */
  private def packed(fewest: Int): Iterator[InternalRow] = counts.indices.iterator.filter(counts(_) >= fewest).map { number =>
    val value = Packing.packed(counts(number), columns.toSeq.flatMap(_.buffers(number, counts(number))))
    columns.foreach(_.clear(number))
    counts(number) = 0
    new GenericInternalRow(Array[Any](keys(number), value))
  }
}

private object RowsByTask {
  private val mostRows = 4096
  val fewestRows = 512
  val mostBytes: Long = 32L * 1024 * 1024
}

/** The values of one column for each of `tasks`; see `Packing.hasOwnForm` for its type. */
private abstract class ColumnByTask(tasks: Int) {
  private val nulls = new Array[java.util.BitSet](tasks)

  /** The bytes that the value takes. */
  def add(row: InternalRow, column: Int, task: Int, place: Int): Long

  /** The values of a batch, which `add` takes. */
  def read(source: ColumnVector, rows: Int): PackedBuffer

  /** Each value at its place among the rows of its task, of which there are `counts` then. */
  def add(values: PackedBuffer, source: ColumnVector, rows: Int, numbers: Array[Int], places: Array[Int], counts: Array[Int]): Unit
  def buffers(task: Int, count: Int): Seq[PackedBuffer]
  def clear(task: Int): Unit = nulls(task) = null

  /** Gives the memory of all back. */
  def release(): Unit

  protected def setNull(task: Int, place: Int): Unit = {
    if (nulls(task) == null) nulls(task) = new java.util.BitSet
    nulls(task).set(place)
  }

  protected def setNulls(source: ColumnVector, rows: Int, numbers: Array[Int], places: Array[Int]): Unit =
    if (source.hasNull) {
      var row = 0
      while (row < rows) {
        if (source.isNullAt(row)) setNull(numbers(row), places(row))
        row += 1
      }
    }

  protected def validity(task: Int, count: Int): PackedBuffer = {
    val packed = new PackedNulls(count)
    if (nulls(task) != null) nulls(task).stream.forEach(packed.setNull(_))
    packed.buffer
  }
}

private object ColumnByTask {
  def of(dataType: DataType, tasks: Int): ColumnByTask = dataType match {
    case _: StringType | BinaryType => new TextsByTask(dataType, tasks)
    case other => new NumbersByTask(other, Packing.width(other), tasks)
  }

  def room(bytes: Array[Byte], size: Long): Array[Byte] =
    if (bytes == null) new Array[Byte](Math.toIntExact(math.max(size, 1024)))
    else if (size <= bytes.length) bytes
    else java.util.Arrays.copyOf(bytes, Math.toIntExact(math.max(size, math.min(2L * bytes.length, Int.MaxValue - 64))))
}

/** Numbers of `width` bytes. */
private class NumbersByTask(dataType: DataType, width: Int, tasks: Int) extends ColumnByTask(tasks) {
  private val values = new Array[Array[Byte]](tasks)

  override def add(row: InternalRow, column: Int, task: Int, place: Int): Long = {
    val bytes = ColumnByTask.room(values(task), (place + 1L) * width)
    values(task) = bytes
    val to = Platform.BYTE_ARRAY_OFFSET + place.toLong * width
    if (row.isNullAt(column)) {
      setNull(task, place)
      java.util.Arrays.fill(bytes, place * width, (place + 1) * width, 0.toByte)
    } else dataType match {
      case ByteType => Platform.putByte(bytes, to, row.getByte(column))
      case ShortType => Platform.putShort(bytes, to, row.getShort(column))
      case IntegerType | DateType => Platform.putInt(bytes, to, row.getInt(column))
      case FloatType => Platform.putFloat(bytes, to, row.getFloat(column))
      case DoubleType => Platform.putDouble(bytes, to, row.getDouble(column))
      case decimal: DecimalType => Platform.putLong(bytes, to, row.getDecimal(column, decimal.precision, decimal.scale).toUnscaledLong)
      case _ => Platform.putLong(bytes, to, row.getLong(column))
    }
    width
  }

  override def read(source: ColumnVector, rows: Int): PackedBuffer = ColumnBuffers.numbers(source, dataType, rows)

  override def add(found: PackedBuffer, source: ColumnVector, rows: Int, numbers: Array[Int], places: Array[Int], counts: Array[Int]): Unit = {
    setNulls(source, rows, numbers, places)
    var task = 0
    while (task < counts.length) {
      if (counts(task) > 0) values(task) = ColumnByTask.room(values(task), counts(task).toLong * width)
      task += 1
    }
    val PackedNumbers(array, offset, _) = found
    val to = Platform.BYTE_ARRAY_OFFSET.toLong
    var row = 0
    width match {
      case 8 => while (row < rows) {
        Platform.putLong(values(numbers(row)), to + 8L * places(row), Platform.getLong(array, offset + 8L * row))
        row += 1
      }
      case 4 => while (row < rows) {
        Platform.putInt(values(numbers(row)), to + 4L * places(row), Platform.getInt(array, offset + 4L * row))
        row += 1
      }
      case 2 => while (row < rows) {
        Platform.putShort(values(numbers(row)), to + 2L * places(row), Platform.getShort(array, offset + 2L * row))
        row += 1
      }
      case 1 => while (row < rows) {
        Platform.putByte(values(numbers(row)), to + places(row), Platform.getByte(array, offset + row))
        row += 1
      }
    }
  }

  override def buffers(task: Int, count: Int): Seq[PackedBuffer] =
    Seq(validity(task, count), PackedNumbers(values(task), Platform.BYTE_ARRAY_OFFSET, count.toLong * width))

  override def release(): Unit = java.util.Arrays.fill(values.asInstanceOf[Array[AnyRef]], null)
}

/** Texts or bytes, behind each other. */
private class TextsByTask(dataType: DataType, tasks: Int) extends ColumnByTask(tasks) {
  private val values = new Array[Array[Byte]](tasks)
  private val ends = new Array[Array[Int]](tasks)

  override def add(row: InternalRow, column: Int, task: Int, place: Int): Long = {
    val isNull = row.isNullAt(column)
    if (isNull) setNull(task, place)
    val text = if (isNull) null else if (dataType == BinaryType) UTF8String.fromBytes(row.getBinary(column)) else row.getUTF8String(column)
    put(text, task, place)
  }

  override def read(source: ColumnVector, rows: Int): PackedBuffer = ColumnBuffers.texts(source, dataType, rows)

  override def add(found: PackedBuffer, source: ColumnVector, rows: Int, numbers: Array[Int], places: Array[Int], counts: Array[Int]): Unit = {
    setNulls(source, rows, numbers, places)
    val texts = found.asInstanceOf[PackedTexts]
    var row = 0
    while (row < rows) {
      put(texts(row), numbers(row), places(row))
      row += 1
    }
  }

  /** An empty one for null. */
  private def put(text: UTF8String, task: Int, place: Int): Long = {
    if (ends(task) == null) ends(task) = new Array[Int](256)
    if (place + 1 >= ends(task).length) ends(task) = java.util.Arrays.copyOf(ends(task), 2 * ends(task).length)
    val start = ends(task)(place)
    val size = if (text == null) 0 else text.numBytes
    val end = Math.addExact(start, size)
    values(task) = ColumnByTask.room(values(task), end)
    if (size > 0) TextsByTask.copy(text, values(task), start, size)
    ends(task)(place + 1) = end
    size + 4L
  }

  override def buffers(task: Int, count: Int): Seq[PackedBuffer] = Seq(validity(task, count),
    PackedNumbers(ends(task), Platform.INT_ARRAY_OFFSET, 4L * (count + 1)),
    PackedNumbers(values(task), Platform.BYTE_ARRAY_OFFSET, ends(task)(count)))

  override def release(): Unit = {
    java.util.Arrays.fill(values.asInstanceOf[Array[AnyRef]], null)
    java.util.Arrays.fill(ends.asInstanceOf[Array[AnyRef]], null)
  }
}

private object TextsByTask {
  /** A call of the JVM's copy takes longer than few bytes. */
  def copy(text: UTF8String, bytes: Array[Byte], at: Int, size: Int): Unit = {
    val (source, offset, to) = (text.getBaseObject, text.getBaseOffset, Platform.BYTE_ARRAY_OFFSET.toLong + at)
    if (size > 32) Platform.copyMemory(source, offset, bytes, to, size)
    else {
      var i = 0
      while (i + 8 <= size) { Platform.putLong(bytes, to + i, Platform.getLong(source, offset + i)); i += 8 }
      while (i < size) { Platform.putByte(bytes, to + i, Platform.getByte(source, offset + i)); i += 1 }
    }
  }
}
