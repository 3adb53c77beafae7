/* Rows on their way to the write tasks in Python: some thousands become one value, which has the buffers of their columns
 * as Arrow lays them out. Spark's `mapInArrow` writes each field of each row into Arrow by itself, and turns the columns
 * of a Parquet file into rows before that.
 *
 * Columns that a scan gives as columns are copied as such, see `ScannedColumns`. Rows are collected first, and then copied
 * column by column.
 * Columns of nested types, and others without a form of their own here, are written by Spark's ArrowWriter.
 *
 * `sqlext.spark.query.packed_rows` reads the values. */
package io.sqlext

import org.apache.arrow.memory.ArrowBuf
import org.apache.arrow.vector.FieldVector
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.{InternalRow, ProjectingInternalRow}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, RepartitionByExpression, UnaryNode}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode}
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.execution.vectorized.WritableColumnVector
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.{PackingSession, SparkInternals}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import scala.jdk.CollectionConverters._

object PackedRows {
  /** The rows as packed values of one column. With `byTask` these are pieces of files if the query gives columns of files
    * as they are, see `FilesByTask`. */
  def of(frame: DataFrame, byTask: Boolean): DataFrame = {
    val rows = frame.asInstanceOf[classic.DataFrame]
    val packed = AttributeReference("packed", BinaryType, nullable = false)()
    val plan = rows.queryExecution.analyzed match {
      case spread: RepartitionByExpression if RowsOfTasks.canBePacked(spread) =>
        val task = AttributeReference("task", IntegerType, nullable = false)()
        val values = RowsOfTasks(spread.partitionExpressions, spread.child, spread.optNumPartitions, task, packed)
        Project(Seq(packed), spread.copy(partitionExpressions = Seq(task), child = values))
      case other => PackedRows(other, packed, byTask)
    }
    SparkInternals.ofRows(PackingSession.of(rows.sparkSession), plan)
  }

  object Planning extends SparkStrategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
      case PackedRows(child, packed, byTask) => Seq(PackedRowsExec(planLater(child), packed, byTask))
      case RowsOfTasks(by, child, tasks, task, packed) =>
        Seq(RowsOfTasksExec(by, planLater(child), tasks.getOrElse(SQLConf.get.numShufflePartitions), task, packed))
      case _ => Nil
    }
  }
}

case class PackedRows(child: LogicalPlan, packed: Attribute, byTask: Boolean) extends UnaryNode {
  override def output: Seq[Attribute] = Seq(packed)
  override def references: AttributeSet = child.outputSet
  override def producedAttributes: AttributeSet = AttributeSet(packed)
  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(child = newChild)
}

case class PackedRowsExec(child: SparkPlan, packed: Attribute, byTask: Boolean) extends UnaryExecNode {
  override def output: Seq[Attribute] = Seq(packed)
  override def references: AttributeSet = child.outputSet
  override def producedAttributes: AttributeSet = AttributeSet(packed)
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)

  /** Seen in Spark's UI. */
  override def nodeName: String =
    if (files.isDefined) "Leave Files to Tasks" else if (ScannedColumns.below(child).isDefined) "Pack Columns" else "Pack Rows"

  @transient private lazy val files: Option[FilesByTask] = if (byTask) FilesByTask.below(child).toOption else None

  override protected def doExecute(): RDD[InternalRow] = {
    val types = child.output.map(_.dataType).toArray
    val packing = files.flatMap(_.pieces.toOption).getOrElse(ScannedColumns.below(child) match {
      case Some(columns) => columns.packed(types)
      case None => child.execute().mapPartitions(rows => new Packing(types).of(rows))
    })
    packing.mapPartitions { values =>
      val row = new GenericInternalRow(1)
      values.map { value => row.update(0, value); row }
    }
  }
}

/** Buffers of columns, each behind the other in `bytes`, which begins with the number of rows and of buffers, and the size
  * of each buffer. All numbers have 8 bytes, and buffers begin at multiples of 8. */
private class Packing(types: Array[DataType]) {
  private val (plain, others) = types.indices.partition(i => Packing.hasOwnForm(types(i)))
  private lazy val otherColumns = StructType(others.map(i => StructField(i.toString, types(i))))
  private lazy val arrow = {
    val writer = ArrowWriter.create(otherColumns, "UTC", true, false)
    TaskContext.get().addTaskCompletionListener[Unit](_ => writer.root.close())
    writer
  }
  private lazy val otherFields = new ProjectingInternalRow(otherColumns, others)

  /** Those of each column. None for more bytes than are packed together, which a dictionary of long texts may unfold to. */
  def buffers(batch: ColumnarBatch): Option[Seq[Seq[PackedBuffer]]] = {
    val rows = batch.numRows
    val own = plain.map(i => i -> ColumnBuffers.of(batch.column(i), types(i), rows)).toMap
    if (rows > 1 && own.values.flatten.map(_.size).sum > CollectedRows.mostBytes) None
    else {
      val written = writtenByArrow(rows, batch.getRow)
      Some(types.indices.map(i => written.getOrElse(i, own(i))))
    }
  }

  def of(rows: Iterator[InternalRow]): Iterator[Array[Byte]] = {
    val collected = new CollectedRows(rows, types)
    Iterator.continually(collected.next()).takeWhile(identity).map(_ => of(collected))
  }

  private def of(collected: CollectedRows): Array[Byte] = {
    val written = writtenByArrow(collected.count, collected.row)
    Packing.packed(collected.count, types.indices.flatMap { i =>
      written.getOrElse(i, collected.buffers(i))
    })
  }

  private def writtenByArrow(rows: Int, row: Int => InternalRow): Map[Int, Seq[PackedBuffer]] =
    if (others.isEmpty) Map.empty
    else {
      arrow.reset()
      var i = 0
      while (i < rows) {
        otherFields.project(row(i))
        arrow.write(otherFields)
        i += 1
      }
      arrow.finish()
      others.zip(arrow.root.getFieldVectors.asScala).map { case (column, vector) => column -> buffersOf(vector) }.toMap
    }

  private def buffersOf(vector: FieldVector): Seq[PackedBuffer] =
    vector.getFieldBuffers.asScala.toSeq.map(ArrowBuffer) ++ vector.getChildrenFromFields.asScala.flatMap(buffersOf)
}

private object Packing {
  def packed(rows: Int, buffers: Seq[PackedBuffer]): Array[Byte] = {
    val size = 8L * (2 + buffers.size) + buffers.map(buffer => rounded(buffer.size)).sum
    val bytes = new Array[Byte](Math.toIntExact(size))
    var at = 0
    def number(value: Long): Unit = { Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + at, value); at += 8 }
    number(rows)
    number(buffers.size)
    buffers.foreach(buffer => number(buffer.size))
    buffers.foreach { buffer =>
      buffer.copyTo(bytes, at)
      at += rounded(buffer.size).toInt
    }
    bytes
  }

  /** Whether values of the type are packed here. */
  def hasOwnForm(dataType: DataType): Boolean = dataType match {
    case _: StringType | BinaryType => true
    case other => width(other) > 0
  }

  /** The bytes of a value that has the same number of them in a row and in Arrow; 0 for other types. Decimals of up to 18
    * digits are packed as their unscaled value. */
  def width(dataType: DataType): Int = dataType match {
    case ByteType => 1
    case ShortType => 2
    case IntegerType | DateType | FloatType => 4
    case LongType | TimestampType | TimestampNTZType | DoubleType => 8
    case decimal: DecimalType if decimal.precision <= Decimal.MAX_LONG_DIGITS => 8
    case _ => 0
  }

  def rounded(size: Long): Long = (size + 7) / 8 * 8
}

/** What stands in a packed value for one buffer of an Arrow array. */
private trait PackedBuffer {
  def size: Long
  def copyTo(bytes: Array[Byte], at: Int): Unit
}

private case class ArrowBuffer(buffer: ArrowBuf) extends PackedBuffer {
  override def size: Long = buffer.readableBytes
  override def copyTo(bytes: Array[Byte], at: Int): Unit = buffer.getBytes(buffer.readerIndex, bytes, at, size.toInt)
}

/** An array of `size` bytes from `offset` on, of any of Java's primitive types. */
private case class PackedNumbers(array: AnyRef, offset: Long, size: Long) extends PackedBuffer {
  override def copyTo(bytes: Array[Byte], at: Int): Unit =
    Platform.copyMemory(array, offset, bytes, Platform.BYTE_ARRAY_OFFSET + at, size)
}

private case object NoValues extends PackedBuffer {
  override def size: Long = 0
  override def copyTo(bytes: Array[Byte], at: Int): Unit = ()
}

/** One bit for each row that has a value; none if all have. */
private class PackedNulls(rows: Int) {
  private var bits: Array[Byte] = _

  def setNull(row: Int): Unit = {
    if (bits == null) bits = Array.fill[Byte]((rows + 7) / 8)(-1)
    bits(row >> 3) = (bits(row >> 3) & ~(1 << (row & 7))).toByte
  }

  def buffer: PackedBuffer = if (bits == null) NoValues else PackedNumbers(bits, Platform.BYTE_ARRAY_OFFSET, bits.length)
}

/** Texts or bytes, behind each other. */
private class PackedTexts(rows: Int) extends PackedBuffer {
  private val offsets = new Array[Int](rows + 1)
  private val values = new Array[UTF8String](rows)
  private var count = 0
  private var length = 0L

  /** An empty one for null. */
  def add(value: UTF8String): Unit = {
    values(count) = value
    if (value != null) length += value.numBytes
    count += 1
    offsets(count) = length.toInt
  }

  /** Null for null. */
  def apply(row: Int): UTF8String = values(row)

  def ends: PackedBuffer = PackedNumbers(offsets, Platform.INT_ARRAY_OFFSET, 4L * offsets.length)
  override def size: Long = length
  override def copyTo(bytes: Array[Byte], at: Int): Unit = {
    var i = 0
    while (i < count) {
      if (values(i) != null) values(i).writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + at + offsets(i))
      i += 1
    }
  }
}

private object ColumnBuffers {
  def of(column: ColumnVector, dataType: DataType, rows: Int): Seq[PackedBuffer] = {
    val validity = new PackedNulls(rows)
    if (column.hasNull) {
      var i = 0
      while (i < rows) { if (column.isNullAt(i)) validity.setNull(i); i += 1 }
    }
    dataType match {
      case _: StringType | BinaryType =>
        val found = texts(column, dataType, rows)
        Seq(validity.buffer, found.ends, found)
      case other => Seq(validity.buffer, numbers(column, other, rows))
    }
  }

  /** They end where they are too many bytes to be packed together. */
  def texts(column: ColumnVector, dataType: DataType, rows: Int): PackedTexts = {
    val texts = new PackedTexts(rows)
    var i = 0
    while (i < rows && texts.size <= CollectedRows.mostBytes) {
      texts.add(if (column.isNullAt(i)) null
        else if (dataType == BinaryType) UTF8String.fromBytes(column.getBinary(i))
        else column.getUTF8String(i))
      i += 1
    }
    texts
  }

  def numbers(column: ColumnVector, dataType: DataType, rows: Int): PackedNumbers = dataType match {
    case decimal: DecimalType => unscaled(column, decimal, rows)
    case ByteType =>
      val bytes = values(column, rows, column.getBytes(0, rows), new Array[Byte](_))(to => i => to(i) = column.getByte(i))
      PackedNumbers(bytes, Platform.BYTE_ARRAY_OFFSET, rows)
    case ShortType =>
      val shorts = values(column, rows, column.getShorts(0, rows), new Array[Short](_))(to => i => to(i) = column.getShort(i))
      PackedNumbers(shorts, Platform.SHORT_ARRAY_OFFSET, 2L * rows)
    case IntegerType | DateType => PackedNumbers(ints(column, rows), Platform.INT_ARRAY_OFFSET, 4L * rows)
    case FloatType =>
      val floats = values(column, rows, column.getFloats(0, rows), new Array[Float](_))(to => i => to(i) = column.getFloat(i))
      PackedNumbers(floats, Platform.FLOAT_ARRAY_OFFSET, 4L * rows)
    case DoubleType =>
      val doubles = values(column, rows, column.getDoubles(0, rows), new Array[Double](_))(to => i => to(i) = column.getDouble(i))
      PackedNumbers(doubles, Platform.DOUBLE_ARRAY_OFFSET, 8L * rows)
    case _ => longs(longsOf(column, rows))
  }

  /** Vectors that Spark's readers write have the digits as whole numbers; of others a decimal is made for each row. */
  private def unscaled(column: ColumnVector, decimal: DecimalType, rows: Int): PackedNumbers = column match {
    case own: WritableColumnVector if decimal.precision <= Decimal.MAX_INT_DIGITS => longs(ints(own, rows).map(_.toLong))
    case own: WritableColumnVector => longs(longsOf(own, rows))
    case other =>
      val digits = new Array[Long](rows)
      eachPresent(other, rows)(i => digits(i) = other.getDecimal(i, decimal.precision, decimal.scale).toUnscaledLong)
      longs(digits)
  }

  private def ints(column: ColumnVector, rows: Int): Array[Int] =
    values(column, rows, column.getInts(0, rows), new Array[Int](_))(to => i => to(i) = column.getInt(i))

  private def longsOf(column: ColumnVector, rows: Int): Array[Long] =
    values(column, rows, column.getLongs(0, rows), new Array[Long](_))(to => i => to(i) = column.getLong(i))

  /** `all` of them, or where some are null each of the others, as `put` puts it: a vector may have a number for null that
    * is in no dictionary. */
  private def values[A](column: ColumnVector, rows: Int, all: => A, empty: Int => A)(put: A => Int => Unit): A =
    if (column.hasNull) {
      val to = empty(rows)
      eachPresent(column, rows)(put(to))
      to
    } else all

  private def eachPresent(column: ColumnVector, rows: Int)(put: Int => Unit): Unit = {
    var i = 0
    while (i < rows) { if (!column.isNullAt(i)) put(i); i += 1 }
  }

  private def longs(values: Array[Long]): PackedNumbers = PackedNumbers(values, Platform.LONG_ARRAY_OFFSET, 8L * values.length)
}

/** Rows one behind the other in memory, as many as are packed together. */
private class CollectedRows(rows: Iterator[InternalRow], types: Array[DataType]) {
  private lazy val laidOut = UnsafeProjection.create(types)
  private var bytes = new Array[Byte](1 << 20)
  private val offsets = new Array[Int](CollectedRows.most + 1)
  private val current = new UnsafeRow(types.length)
  private val values = UnsafeRow.calculateBitSetWidthInBytes(types.length)
  var count = 0

  /** Whether there are more rows, which are collected then. */
  def next(): Boolean = {
    count = 0
    while (count < CollectedRows.most && offsets(count) < CollectedRows.mostBytes && rows.hasNext) add(rows.next())
    count > 0
  }

  private def add(row: InternalRow): Unit = {
    val one = row match {
      case unsafe: UnsafeRow => unsafe
      case other => laidOut(other)
    }
    val (start, size) = (offsets(count), one.getSizeInBytes)
    val end = Math.addExact(start, size)
    if (end > bytes.length) bytes = java.util.Arrays.copyOf(bytes, math.max(end.toLong, math.min(2L * bytes.length, Int.MaxValue - 64)).toInt)
    Platform.copyMemory(one.getBaseObject, one.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + start, size)
    count += 1
    offsets(count) = end
  }

  /** Valid until the next one is asked for. */
  def row(i: Int): InternalRow = {
    current.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + offsets(i), offsets(i + 1) - offsets(i))
    current
  }

  def buffers(column: Int): Seq[PackedBuffer] = {
    val validity = validityOf(column)
    types(column) match {
      case _: StringType | BinaryType =>
        val texts = textsOf(column)
        Seq(validity.buffer, texts.ends, texts)
      case other => Seq(validity.buffer, numbersOf(column, Packing.width(other)))
    }
  }

  private def rowAt(i: Int): Long = Platform.BYTE_ARRAY_OFFSET + offsets(i)

  private def validityOf(column: Int): PackedNulls = {
    val validity = new PackedNulls(count)
    val (word, mask) = (column / 64 * 8, 1L << column % 64)
    var i = 0
    while (i < count) {
      if ((Platform.getLong(bytes, rowAt(i) + word) & mask) != 0) validity.setNull(i)
      i += 1
    }
    validity
  }

  /** A row has the length of a text in the lower half of its field, and its place in the row in the upper. */
  private def textsOf(column: Int): PackedTexts = {
    val texts = new PackedTexts(count)
    val (word, mask, field) = (column / 64 * 8, 1L << column % 64, values + 8 * column)
    var i = 0
    while (i < count) {
      val row = rowAt(i)
      if ((Platform.getLong(bytes, row + word) & mask) != 0) texts.add(null)
      else {
        val placed = Platform.getLong(bytes, row + field)
        texts.add(UTF8String.fromAddress(bytes, row + (placed >>> 32), placed.toInt))
      }
      i += 1
    }
    texts
  }

  private def numbersOf(column: Int, width: Int): PackedBuffer = {
    val (field, found) = (values + 8 * column, new Array[Byte](count * width))
    val copy: (Long, Long) => Unit = width match {
      case 8 => (from, to) => Platform.putLong(found, to, Platform.getLong(bytes, from))
      case 4 => (from, to) => Platform.putInt(found, to, Platform.getInt(bytes, from))
      case 2 => (from, to) => Platform.putShort(found, to, Platform.getShort(bytes, from))
      case 1 => (from, to) => Platform.putByte(found, to, Platform.getByte(bytes, from))
    }
    var i = 0
    while (i < count) { copy(rowAt(i) + field, Platform.BYTE_ARRAY_OFFSET + i * width); i += 1 }
    PackedNumbers(found, Platform.BYTE_ARRAY_OFFSET, found.length)
  }
}

private object CollectedRows {
  val most = 4096
  val mostBytes: Int = 16 * 1024 * 1024
}
