/* The read path of Spark's DataSource V2: ScanBuilder with what can be pushed to it, Scan with statistics,
 * partitioning and runtime filters, Batch, and the reader of a task's files. Python plans the files; Spark's own
 * readers read them. */
package io.sqlext

import java.util
import java.util.OptionalLong

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.{SparkSession, classic}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference, SortOrder}
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics
import org.apache.spark.sql.connector.read.partitioning.{KeyGroupedPartitioning, Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.{ArrowRows, SparkInternals}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

class SqlextScanBuilder(table: SqlextTable) extends ScanBuilder with SupportsPushDownV2Filters
    with SupportsPushDownRequiredColumns with SupportsPushDownAggregates with SupportsPushDownLimit with SupportsPushDownTopN {
  private var columns = table.schema
  private var filters = Seq.empty[Predicate]
  private var limit: Option[Int] = None
  private var firstRows: Option[FirstRows] = None
  private var aggregates: Option[(Aggregation, AggregateScan)] = None

  /** Pruning by files and row groups leaves rows that do not match, and Spark filters them again: all but those that
    * Python says partitions and bounds of the files answer. */
  override def pushPredicates(offered: Array[Predicate]): Array[Predicate] = {
    filters = offered.toSeq
    val exactly = filters.map(PredicateJson.encodeExactly)
    if (exactly.forall(_.isEmpty) || table.role.isInstanceOf[EqualityDeletes]) offered
    else {
      val answered = Bridge.askOnce("answered filters", Map("table" -> table.handle,
        "filters" -> filters.flatMap(PredicateJson.encode), "exactly" -> exactly)).get("answered").elements.asScala.map(_.asBoolean).toSeq
      filters.zip(answered).collect { case (filter, false) => filter }.toArray
    }
  }
  override def pushedPredicates(): Array[Predicate] = filters.filter(ShownFilters.hasText).toArray // only shown

  /** Spark compares names as the session does when it prunes nested fields, and may give a column the type of
    * another one whose name differs in case alone: such columns are read whole. */
  override def pruneColumns(required: StructType): Unit = columns = NestedColumns.read(table,
    if (SQLConf.get.caseSensitiveAnalysis || !AmbiguousNames.hasAlike(table.schema)) required
    else StructType(required.map(field => table.schema.find(_.name == field.name).getOrElse(field))))
  override def pushLimit(count: Int): Boolean = { limit = Some(count); true }
  override def pushTopN(orders: Array[SortOrder], count: Int): Boolean = {
    firstRows = FirstRows.of(orders, count).filter(rows => table.schema.fieldNames.contains(rows.column))
    firstRows.isDefined
  }
  override def isPartiallyPushed: Boolean = true

  override def supportCompletePushDown(wanted: Aggregation): Boolean = {
    aggregates = if (table.role == Rows && !table.hasDeletes) AggregateScan.answering(table, filters, wanted).map(wanted -> _) else None
    aggregates.isDefined
  }
  override def pushAggregation(wanted: Aggregation): Boolean = aggregates.exists(_._1 == wanted)
  override def build(): Scan = aggregates.map(_._2).getOrElse(SqlextScan(table, columns, filters, limit, firstRows))
}

private object ShownFilters {
  /** Spark fails as it makes the text of a null among bytes. */
  def hasText(filter: Expression): Boolean = filter match {
    case literal: Literal[_] => literal.dataType != BinaryType || literal.value != null
    case other => other.children.forall(hasText)
  }
}

/** Which files Python planned, read by Spark's own readers: nearly always the vectorised one of Parquet. */
case class SqlextScan(table: SqlextTable, columns: StructType, filters: Seq[Predicate], limit: Option[Int],
    firstRows: Option[FirstRows])
    extends Scan with SupportsReportStatistics with SupportsReportPartitioning with SupportsRuntimeV2Filtering {
  private val constants = StructType(columns.filter(f => MetadataColumns.isConstant(f.name)))
  private val stored = columns.filterNot(f => MetadataColumns.isConstant(f.name))
  private val wantsPosition = stored.exists(_.name == MetadataColumns.position.name)
  private val (keepsDeletedFiles, touchedByKey) = table.role match {
    case StoredRows(andDeletedFiles, touched) => (Some(andDeletedFiles), touched)
    case _ => (None, None)
  }
  /** Rows whose deletes are known by their positions are left out as files are read, unless the query marks them. */
  private val appliesVectors = keepsDeletedFiles.contains(false) && (table.hasPositionDeletes || table.resolvesKeys)

  private lazy val spark = SparkSession.active.asInstanceOf[classic.SparkSession]

  private lazy val grouping = Grouping.of(table, columns)
  private lazy val plan: JsonNode = planned(Nil, limit, firstRows)
  private var found = Seq.empty[Predicate]

  private def planned(more: Seq[Predicate], limit: Option[Int], firstRows: Option[FirstRows]): JsonNode = Bridge.askOnce("plan scan", Map(
    "table" -> table.handle,
    "group" -> (table.role match { case EqualityDeletes(group) => group; case _ => -1 }),
    "deletion_vectors" -> (appliesVectors || constants.exists(_.name == MetadataColumns.deletionVector.name)),
    "resolve_keys" -> (appliesVectors && table.resolvesKeys),
    "deleted_files" -> keepsDeletedFiles.contains(true),
    "touched_by_key" -> touchedByKey,
    "partitions" -> constants.exists(f => MetadataColumns.isPartitionValue(f.name)),
    "filters" -> (filters ++ more).flatMap(PredicateJson.encode),
    "grouping" -> grouping.map(_.fields),
    "limit" -> limit,
    "first_rows" -> firstRows.map(_.described),
    "plan_settings" -> Bridge.planSettings(spark.conf.getAll)))

  /** Columns whose values the query itself says are left out: a join's other side leaves hardly fewer. Spark makes the
    * plan of a join of tables whose sides all filter each other twice as long with each table. */
  override def filterAttributes: Array[NamedReference] =
    if (table.role.isInstanceOf[EqualityDeletes]) Array.empty
    else table.clusteredColumns.filter(name => columns.fieldNames.contains(name) && !hasValues(name)).map(Grouping.reference).toArray

  private def hasValues(column: String): Boolean = filters.flatMap(PredicateJson.encode).exists {
    case Seq("=" | "in", Seq(`column`), _) => true
    case _ => false
  }

  /** Values that a join's other side turned out to have leave fewer files. */
  override def filter(values: Array[Predicate]): Unit = found = found ++ values.filter(PredicateJson.encode(_).isDefined)

  /** Spark asks for a batch of its own after it filtered; another part of the query that reads the same scan unfiltered
    * gets all files. */
  override def toBatch: Batch = {
    val values = found
    found = Nil
    SqlextBatch(this)(if (values.isEmpty) plan else planned(values, None, None))
  }

  override def outputPartitioning: Partitioning = grouping match {
    case Some(g) if isGrouped =>
      new KeyGroupedPartitioning(g.keys, plan.get("files").elements.asScala.map(g.key).toSet.size)
    case _ => new UnknownPartitioning(0)
  }

  private def isGrouped: Boolean = plan.get("grouped").asBoolean

  override def readSchema: StructType = StructType(stored ++ constants)
  override def description: String = {
    val files = touchedByKey.map(touched => s", files that equality deletes ${if (touched) "may touch" else "do not touch"}").getOrElse("")
    s"sqlext ${table.name} [filters: ${filters.map(shown).mkString(", ")}$files]"
  }
  private def shown(filter: Predicate): String = if (ShownFilters.hasText(filter)) filter.toString else filter.name

  override def estimateStatistics: Statistics = new Statistics {
    override def numRows: OptionalLong = OptionalLong.of(plan.get("expected_rows").asLong)
    override def columnStats: util.Map[NamedReference, ColumnStatistics] =
      if (spark.sessionState.conf.cboEnabled) ColumnFigures.of(table, columns) else new util.HashMap()
    override def sizeInBytes: OptionalLong = OptionalLong.of(bytesOf(plan.get("expected_rows").asLong))
  }

  /** As Spark takes them for. */
  private def bytesOf(rows: Long): Long = math.max(1L, rows * (8L + columns.defaultSize))

  /** The factor by which the files, as they are and with all their columns, outweigh what Spark takes their rows for. */
  private[sqlext] def understated: Double =
    plan.get("files").elements.asScala.map(PlannedFiles.size).sum.toDouble / bytesOf(plan.get("rows").asLong)

  /** A scan may not start on a relation whose deletes no rule has taken away. */
  private[sqlext] def partitions(plan: JsonNode): Array[InputPartition] = {
    require(table.role != Rows || !table.hasDeletes, s"deletes of ${table.name} were not applied")
    require(table.role != Rows || !columns.exists(f => table.lineage(f.name).isDefined), s"row ids of ${table.name} were not made")
    val files = new PlannedFiles(plan, stored, constants, wantsPosition, appliesVectors)
    val openCost = spark.sessionState.conf.filesOpenCostInBytes
    val splitBytes = maxSplitBytes(files.bytes + openCost * files.count, openCost)
    def packed(numbers: Seq[Int]): Array[FilePartition] =
      EvenTasks.of(spark, files.splits(numbers, splitBytes), splitBytes, openCost)
    grouping match {
      case Some(g) if isGrouped => (0 until files.count).groupBy(number => g.key(plan.get("files").get(number))).toArray.flatMap {
        case (key, some) => packed(some).map(KeyedPartition(InternalRow.fromSeq(key), _))
      }
      case _ => packed(0 until files.count).toArray
    }
  }

  /** Of how many rows of data files the driver reads the scan itself; none if tasks read it in any case. */
  private[sqlext] def driverRows: Long = plan.get("driver_rows").asLong

  /** Whether Python may read the rows by their key, as it says of the files; it needs not, see `rowsOfKeys`. */
  private[sqlext] def isByKey: Boolean = constants.forall(_.name == MetadataColumns.file.name) && plan.get("by_key").asBoolean

  /** The rows that have one of the keys which the filters say; None if Python leaves them to Spark. */
  private[sqlext] def rowsOfKeys: Option[Iterator[InternalRow]] = {
    val answer = Bridge.ask("rows of keys", Map(
      "table" -> table.handle,
      "filters" -> filters.flatMap(PredicateJson.encode),
      "types" -> readSchema.json,
      "plan_settings" -> Bridge.planSettings(spark.conf.getAll)))
    Option(answer.get("batches")).filterNot(_.isNull).map(ArrowRows.of(readSchema, _))
  }

  /** Each file for one reader. */
  private[sqlext] def wholeFiles: Seq[InputPartition] = {
    val files = new PlannedFiles(plan, stored, constants, wantsPosition, appliesVectors)
    files.splits(0 until files.count, Long.MaxValue).zipWithIndex.map { case (file, number) => FilePartition(number, Array(file)) }
  }

  private def maxSplitBytes(total: Long, openCost: Long): Long = {
    val conf = spark.sessionState.conf
    val parallelism = conf.filesMinPartitionNum.getOrElse(spark.sparkContext.defaultParallelism)
    math.min(conf.filesMaxPartitionBytes, math.max(openCost, total / parallelism))
  }

  private lazy val batches = !StoredValues.holdVoid(StructType(stored)) && new ParquetFileFormat().supportBatch(spark,
    StructType(stored.map(FileReaders.inParquet(table, _)) ++ constants ++ Option.when(appliesVectors)(MetadataColumns.position)))

  /** Said outright, so that Spark need not plan the files to find it out. */
  override def columnarSupportMode: Scan.ColumnarSupportMode =
    if (batches) Scan.ColumnarSupportMode.SUPPORTED else Scan.ColumnarSupportMode.UNSUPPORTED

  private[sqlext] def readerFactory: PartitionReaderFactory = {
    val readers = new FileReaders(spark, table, stored, constants, filters, plan, batches)
    if (appliesVectors && plan.get("files").elements.asScala.exists(PlannedFiles.hasVector)) {
      val positioned = if (wantsPosition) readers else readers.behind(MetadataColumns.position)
      new FileReaderFactory(LiveRows.reader(readers.reader, positioned.reader, positioned.schema, positioned.positionAt, wantsPosition),
        batches)
    } else new FileReaderFactory(readers.reader, batches)
  }
}

/** The files of a scan, or those of them that a join's other side leaves. */
case class SqlextBatch(scan: SqlextScan)(plan: => JsonNode) extends Batch {
  override def planInputPartitions: Array[InputPartition] = scan.partitions(plan)
  override def createReaderFactory: PartitionReaderFactory = scan.readerFactory
}

private object FileReaderFactory {
  def filesOf(partition: InputPartition): Array[PartitionedFile] = partition match {
    case KeyedPartition(_, packed) => packed.files
    case packed: FilePartition => packed.files
  }
}

private class FileReaderFactory(read: PartitionedFile => Iterator[InternalRow], batches: Boolean) extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = batches
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = open(partition)
  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] = open(partition)

  private def open[T](partition: InputPartition): PartitionReader[T] = new PartitionReader[T] {
    private val files = FileReaderFactory.filesOf(partition).iterator
    private var rows: Iterator[Any] = Iterator.empty
    private var path = ""
    private var current: Any = _

    override def next(): Boolean =
      try advance()
      catch { case NonFatal(failure) => throw SparkInternals.readFailure(path, failure) }

    private def advance(): Boolean = {
      while (!rows.hasNext && files.hasNext) {
        close()
        val file = files.next()
        path = file.urlEncodedPath
        rows = read(file).asInstanceOf[Iterator[Any]]
      }
      val found = rows.hasNext
      if (found) current = rows.next()
      found
    }
    override def get(): T = current.asInstanceOf[T]
    override def close(): Unit = OpenRows.close(rows)
  }
}
