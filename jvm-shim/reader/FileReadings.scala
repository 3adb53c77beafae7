/* How files are read that are not Parquet with field ids: by the names that Python found for each field in the file.
 * Spark's readers of Avro and Parquet, and ORC's own, give rows; they are arranged as those of other files are. */
package io.sqlext

import com.fasterxml.jackson.databind.JsonNode
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.execution.{SqlextFileFormats, SqlextRowBatches}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.types._

import scala.jdk.CollectionConverters._

class FileReading(description: JsonNode) {
  private val format: String = description.get("format").asText
  private val names: Map[Long, String] =
    description.get("names").elements.asScala.map(pair => pair.get(0).asLong -> pair.get(1).asText).toMap

  private val pairs: Set[String] = description.get("pairs").elements.asScala.map(_.asText).toSet

  /** The fields that the files have. */
  def fields: Set[Long] = names.keySet

  /** Spark counts rows in Parquet only: for the position of a row in another file the file is read from its start. */
  def countsFromStart: Boolean = format != "PARQUET"

  /** A reader whose rows are `stored`, fields with their ids (a row index among them has none), and then
    * `constants`. */
  def reader(spark: SparkSession, stored: Seq[StructField], rowIndex: StructField, constants: StructType,
      batches: Boolean, hadoop: Configuration): PartitionedFile => Iterator[InternalRow] = {
    val named = stored.map(f => if (f.name == rowIndex.name) f else FieldIds.named(StructType(Seq(f)), names).head)
    if (format == "PARQUET")
      FormatReader.of(spark, new ParquetFileFormat, StructType(named), constants, Nil, batches, hadoop)
    else {
      val inFile = StructType(named.filter(_.name != rowIndex.name))
      val rows =
        if (format == "ORC") OrcRows.reader(spark, FileReading.asInstants(inFile), hadoop)
        else {
          val withIds = StructType(stored.filter(_.name != rowIndex.name))
          val asPairs = MapsOfPairs.inFile(withIds, inFile, pairs)
          val columns = FileReading.asInstants(asPairs)
          val read = FormatReader.of(spark, SqlextFileFormats.avro, columns, StructType(Nil), Nil, batches = false, hadoop)
          MapsOfPairs.shown(read, asPairs, inFile)
        }
      FileReading.arranged(rows, StructType(named), named.indexWhere(_.name == rowIndex.name), constants, batches)
    }
  }
}

object FileReading {
  /** The key of a file's reading, a number, among its constants. */
  val key = "sqlext_reading"

  /** Timestamps without zone, as ORC and Iceberg's Avro have them, are instants to Spark's converters; the number is
    * the same. */
  private def asInstants(columns: StructType): StructType =
    SparkInternals.replaced(columns) { case TimestampNTZType => TimestampType }.asInstanceOf[StructType]

  private def arranged(read: PartitionedFile => Iterator[InternalRow], columns: StructType, positionAt: Int,
      constants: StructType, batches: Boolean): PartitionedFile => Iterator[InternalRow] = { file =>
    val rows = if (positionAt < 0) read(file) else numbered(read(file), columns, positionAt)
    if (batches)
      SqlextRowBatches(rows, columns, constants, file.partitionValues).asInstanceOf[Iterator[InternalRow]]
    else {
      val joined = new JoinedRow
      rows.map(row => joined(row, file.partitionValues))
    }
  }

  private def numbered(rows: Iterator[InternalRow], columns: StructType, positionAt: Int): Iterator[InternalRow] = {
    val types = columns.map(_.dataType).toArray
    rows.zipWithIndex.map { case (row, number) =>
      val values = new Array[Any](types.length)
      values.indices.foreach { i =>
        if (i == positionAt) values(i) = number.toLong
        else {
          val from = if (i < positionAt) i else i - 1
          values(i) = if (row.isNullAt(from)) null else row.get(from, types(i))
        }
      }
      new GenericInternalRow(values)
    }
  }
}
