/* Spark's FileFormat readers, one for each way in which files of a plan are stored. They give the columns `stored`, of
 * the table or the position of a row, and then `constants`; as batches, or row by row. */
package io.sqlext

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.QuotingUtils
import org.apache.spark.sql.classic
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.{And, Filter}
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.types._

import scala.jdk.CollectionConverters._

private[sqlext] class FileReaders(spark: classic.SparkSession, table: SqlextTable, stored: Seq[StructField],
    constants: StructType, filters: Seq[Predicate], plan: JsonNode, batches: Boolean) {
  private val storedWithIds = stored.map(FileReaders.withId(table, _))
  private val parquetColumns = StructType(stored.map(FileReaders.inParquet(table, _)))

  /** The filters that Parquet's reader gets: on columns that are read, as it takes any other for null. They refer to columns
    * by quoted names. */
  private val pushed = {
    val pushable = plan.get("pushable_columns").elements.asScala.map(_.asText).toSet & stored.map(_.name).toSet
    val read = pushable.map(QuotingUtils.quoteIfNeeded)
    val offered = filters.filter(PredicateJson.hasTextsAsStrings).flatMap(SparkInternals.filterOf)
    FileReaders.together(offered.filter(_.references.forall(read)).toIndexedSeq).toSeq
  }

  /** Whether the readers give every row of a file. */
  private def skipsNothing: Boolean = pushed.isEmpty

  /** What the readers give. */
  val schema: StructType = StructType(stored ++ constants)

  /** Where in it the position of a row is, or -1. */
  def positionAt: Int = stored.indexWhere(_.name == MetadataColumns.position.name)

  /** Readers of one column more, behind those stored. */
  def behind(column: StructField): FileReaders =
    new FileReaders(spark, table, stored :+ column, constants, filters, plan, batches)

  def reader: PartitionedFile => Iterator[InternalRow] = {
    val hadoop = spark.sessionState.newHadoopConf()
    hadoop.setBoolean(SQLConf.PARQUET_FIELD_ID_READ_ENABLED.key, true)
    hadoop.setBoolean(SQLConf.PARQUET_INFER_TIMESTAMP_NTZ_ENABLED.key, true)
    val columns = InitialDefaults.leftToSpark(parquetColumns, batches)
    val counts = positionAt >= 0 && batches && skipsNothing
    val inFile = if (counts) StructType(columns.filterNot(_.name == FileReaders.rowIndex.name)) else columns
    val rows = FormatReader.of(spark, new ParquetFileFormat, inFile, constants, pushed, batches, hadoop)
    val byId = if (counts) RowPositions.counted(rows, positionAt, spark, hadoop) else rows
    val whole = schema
    // The plan has those of all files: a batch that a runtime filter has left uses some of them.
    val readings = plan.get("readings").elements.asScala.map(reading => reading.toString -> new FileReading(reading)).toMap
    val byName = readings.map { case (key, reading) =>
      key -> reading.reader(spark, InitialDefaults.without(storedWithIds), FileReaders.rowIndex, constants, batches, hadoop)
    }
    val fieldsByName = readings.map { case (key, reading) => key -> reading.fields }
    val defaults = InitialDefaults.of(FieldIds.onto(StructType(stored.filter(f => table.schema.fieldNames.contains(f.name))),
      table.schemaWithIds))
    val absent = InitialDefaults.absentFrom(spark, defaults -- InitialDefaults.given(columns), hadoop)
    val shown = StoredValues.shown(file => file.otherConstantMetadataColumnValues.get(FileReading.key) match {
      case Some(reading: String) => byName(reading)(file)
      case _ => byId(file)
    }, file => file.otherConstantMetadataColumnValues.get(FileReading.key) match {
      case Some(reading: String) => defaults -- fieldsByName(reading)
      case _ => absent(file)
    }, parquetColumns, StructType(stored), constants)
    file => file.otherConstantMetadataColumnValues.get(AbsentColumns.key) match {
      case Some(values: Map[Int @unchecked, Any @unchecked]) => AbsentColumns.filled(shown(file), whole, values)
      case _ => shown(file)
    }
  }
}

private[sqlext] object FileReaders {
  /** The conjunction of filters as a balanced tree. Parquet's reader serializes its filter in a task, and a tree as deep
    * as there are filters, as Spark makes it, overflows the stack and ends the executor. */
  private def together(filters: IndexedSeq[Filter]): Option[Filter] =
    if (filters.size < 2) filters.headOption
    else {
      val (first, second) = filters.splitAt(filters.size / 2)
      Some(And(together(first).get, together(second).get))
    }

  val rowIndex: StructField =
    StructField(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME, MetadataColumns.position.dataType)

  /** The column as Spark's Parquet reader is asked for it. */
  def inParquet(table: SqlextTable, column: StructField): StructField = {
    val withId = this.withId(table, column)
    if (withId.name == rowIndex.name || table.lineage(column.name).isDefined) withId
    else FieldIds.unmistakable(StructType(Seq(withId)), table.reusedIds).head
  }

  private def withId(table: SqlextTable, column: StructField): StructField =
    if (column.name == MetadataColumns.position.name) rowIndex
    else table.lineage(column.name).getOrElse(FieldIds.onto(StructType(Seq(column)), table.storedSchema).head)
}
