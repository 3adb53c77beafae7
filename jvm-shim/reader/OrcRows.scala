/* ORC files as rows. Spark's own source cannot read the type that Iceberg stores instants in; ORC's reader and Spark's
 * conversion of its values can. */
package io.sqlext

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.hive.serde2.io.DateWritable
import org.apache.hadoop.io.{IntWritable, LongWritable, WritableComparable}
import org.apache.orc.{OrcFile, TypeDescription}
import org.apache.orc.TypeDescription.Category
import org.apache.orc.impl.ParserUtils
import org.apache.orc.mapred.{OrcList, OrcMap, OrcStruct, OrcTimestamp}
import org.apache.orc.mapreduce.OrcMapreduceRecordReader
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.orc.OrcDeserializer
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.types._

import scala.jdk.CollectionConverters._

object OrcRows {
  def reader(spark: SparkSession, columns: StructType, hadoop: Configuration): PartitionedFile => Iterator[InternalRow] = {
    val shared = KeptReaders.configuration(spark, hadoop)
    file => rows(file, columns, shared.value.value)
  }

  private def rows(file: PartitionedFile, columns: StructType, hadoop: Configuration): Iterator[InternalRow] = {
    // By UTC a timestamp without zone is the number that Spark has for it, and an instant is the same by any zone.
    val source = OrcFile.createReader(file.toPath, OrcFile.readerOptions(hadoop).useUTCTimestamp(true))
    val inFile = source.getSchema
    val options = source.options().schema(struct(columns, Some(inFile))).range(file.start, file.length)
    val records = new OrcMapreduceRecordReader[OrcStruct](source, options)
    Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => { records.close(); source.close() }))
    val names = inFile.getFieldNames.asScala.toSet
    // A column that is in the file has no need of its default, which is of the column's own type.
    val numbers = StructType(columns.map(f => if (names(inOrc(f.name))) StructField(f.name, asNumbers(f.dataType)) else f))
    val plain = inFile.getChildren.asScala.exists(_.getAttributeNames.contains("iceberg.id")) &&
      numbers.map(_.dataType) != columns.map(_.dataType)
    // For a column at -1 it puts the column's default.
    val deserializer = new OrcDeserializer(if (plain) numbers else columns,
      columns.indices.map(i => if (names(inOrc(columns(i).name))) i else -1).toArray)
    new Iterator[InternalRow] {
      private var ahead = false
      private var ended = false
      override def hasNext: Boolean = {
        if (!ahead && !ended) { ahead = records.nextKeyValue(); ended = !ahead }
        ahead
      }
      override def next(): InternalRow = {
        if (!hasNext) throw new NoSuchElementException
        ahead = false
        val record = records.getCurrentValue
        deserializer.deserialize(if (plain) numbered(record).asInstanceOf[OrcStruct] else record)
      }
    }
  }

  // Iceberg writes days and microseconds of the proleptic Gregorian calendar, and leaves the file's footer to say that it
  // is the hybrid one, in which Spark's conversion would take them. Its files are known by their field ids: there the
  // numbers are taken as they are. Files that have no ids were not written by Iceberg, and are read as Spark does.

  private def asNumbers(dataType: DataType): DataType =
    SparkInternals.replaced(dataType) { case DateType => IntegerType; case TimestampType => LongType }

  private def numbered(value: Any): WritableComparable[_] = value match {
    case date: DateWritable => new IntWritable(date.getDays)
    case time: OrcTimestamp =>
      new LongWritable(Math.addExact(Math.multiplyExact(Math.floorDiv(time.getTime, 1000L), 1000000L), time.getNanos / 1000L))
    case struct: OrcStruct =>
      (0 until struct.getNumFields).foreach(i => struct.setFieldValue(i, numbered(struct.getFieldValue(i): Any)))
      struct
    case list: OrcList[_] =>
      val values = list.asInstanceOf[OrcList[WritableComparable[_]]]
      values.replaceAll(one => numbered(one))
      values
    case map: OrcMap[_, _] =>
      val entries = map.asInstanceOf[OrcMap[WritableComparable[_], WritableComparable[_]]]
      val pairs = entries.asScala.toSeq.map { case (key, one) => numbered(key) -> numbered(one) }
      entries.clear()
      pairs.foreach { case (key, one) => entries.put(key, one) }
      entries
    case other => other.asInstanceOf[WritableComparable[_]]
  }

  /** What ORC's schema evolution makes of the file's columns; what the file lacks is null. */
  private def wanted(dataType: DataType, inFile: Option[TypeDescription]): TypeDescription = dataType match {
    case s: StructType => struct(s, inFile)
    case a: ArrayType => TypeDescription.createList(wanted(a.elementType, child(inFile, Category.LIST, 0)))
    case m: MapType => TypeDescription.createMap(
      wanted(m.keyType, child(inFile, Category.MAP, 0)), wanted(m.valueType, child(inFile, Category.MAP, 1)))
    case TimestampType =>
      val times = inFile.filter(t => t.getCategory == Category.TIMESTAMP || t.getCategory == Category.TIMESTAMP_INSTANT)
      times.map(_.clone()).getOrElse(TypeDescription.createTimestampInstant)
    case d: DecimalType => TypeDescription.createDecimal.withScale(d.scale).withPrecision(d.precision)
    case _: StringType => TypeDescription.createString
    case BinaryType => TypeDescription.createBinary
    case BooleanType => TypeDescription.createBoolean
    case IntegerType => TypeDescription.createInt
    case LongType => TypeDescription.createLong
    case FloatType => TypeDescription.createFloat
    case DoubleType => TypeDescription.createDouble
    case DateType => TypeDescription.createDate
    case other => throw new UnsupportedOperationException(s"ORC files with columns of type $other")
  }

  /** A field's name as ORC's reader has it, which takes what stands in the file for a quoted name: up to a backtick. */
  private def inOrc(name: String): String =
    ParserUtils.parseName(new ParserUtils.StringPosition(if (name.startsWith("`")) name else s"`$name`"))

  private def struct(columns: StructType, inFile: Option[TypeDescription]): TypeDescription = {
    val known: Map[String, TypeDescription] = inFile.filter(_.getCategory == Category.STRUCT)
      .map(t => t.getFieldNames.asScala.zip(t.getChildren.asScala).toMap).getOrElse(Map.empty)
    columns.foldLeft(TypeDescription.createStruct)((made, f) => {
      val name = inOrc(f.name)
      made.addField(name, wanted(f.dataType, known.get(name)))
    })
  }

  private def child(inFile: Option[TypeDescription], of: Category, at: Int): Option[TypeDescription] =
    inFile.filter(_.getCategory == of).map(_.getChildren.get(at))
}
