/* Files whose columns a query gives as they are, of all rows or of those that a condition selects, left to the write tasks
 * in Python: these read them as Arrow, and no row goes through the JVM. A task gets one packed value for each piece of a
 * file that Spark has planned for it.
 *
 * `sqlext.scan.file_piece` reads the values. What it cannot read as Spark does it tells before the job, by the
 * plan's first file, or in the task: then the query runs again, and Spark reads.
 *
 * Without it an INSERT of all columns of a scan takes two thirds more CPU. */
package io.sqlext

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap, AttributeReference, Expression, ExpressionSet, PlanExpression, PredicateHelper}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, LeafExecNode, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetOptions}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2Relation}
import org.apache.spark.sql.sqlext.{ScanPartitions, SparkInternals}
import org.apache.spark.sql.types._

import scala.jdk.CollectionConverters._

/** The columns of a scan's files by their names, or by their field ids where a table tells them, with their types; the
  * handle of the table; and the condition on rows, in which columns have the names of `FilesByTask.place`. */
private[sqlext] case class FilesByTask(
    scan: SparkPlan, columns: Seq[Any], types: Seq[DataType], table: Option[String], condition: Option[Seq[Any]]) {
  /** What is told of each file. */
  private lazy val shared: Map[String, Any] =
    Map("columns" -> columns, "table" -> table.orNull, "condition" -> condition.orNull) ++ condition.map(_ => read)
  /** The columns of a condition, by their names in it. */
  private lazy val read: (String, Any) =
    "read" -> Bridge.json.readTree(StructType(types.zipWithIndex.map { case (one, at) => StructField(FilesByTask.place(at), one) }).json)

  private def filesOf(partition: Partition): Seq[PartitionedFile] = partition match {
    case packed: FilePartition => packed.files.toSeq
    case other => ScanPartitions.inputs(other).flatMap(FileReaderFactory.filesOf(_).toSeq)
  }

  /** The packed values; or why Spark has to read the files. */
  def pieces: Either[String, RDD[Array[Byte]]] = {
    val rows = scan match {
      case files: FileSourceScanExec => files.inputRDD
      case batch: BatchScanExec => batch.inputRDD
    }
    val files = rows.partitions.map(filesOf)
    files.iterator.flatten.flatMap(FilesByTask.unread(_, table.isDefined)).nextOption()
      .orElse(files.iterator.flatten.nextOption().flatMap(unreadFirst))
      .toLeft(new PiecesOfTask(rows, files.map(_.map(FilesByTask.packed(_, shared)).toArray)))
  }

  private def unreadFirst(first: PartitionedFile): Option[String] =
    Option(Bridge.ask("read by tasks", FilesByTask.described(first, shared) + read).get("why").textValue)
}

/** Of each task its packed values, in place of the rows of a scan. */
private class PiecesOfTask(scan: RDD[_], values: Array[Array[Array[Byte]]]) extends RDD[Array[Byte]](scan.context, Nil) {
  private val places = scan.partitions.map(scan.preferredLocations)

  override protected def getPartitions: Array[Partition] = values.zipWithIndex.map { case (some, number) => PieceOfTask(number, some) }
  override protected def getPreferredLocations(split: Partition): Seq[String] = places(split.index)
  override def compute(split: Partition, context: TaskContext): Iterator[Array[Byte]] = split.asInstanceOf[PieceOfTask].values.iterator
}

private case class PieceOfTask(index: Int, values: Array[Array[Byte]]) extends Partition

object FilesByTask extends PredicateHelper {
  /** In place of the number of rows. */
  private val mark = -1L
  private val found = "a subquery tells which files are read"
  private val computed = "the query does more than read columns of files"

  /** The handles of the tables that a query reads. */
  def tables(frame: DataFrame): java.util.List[String] =
    frame.asInstanceOf[classic.DataFrame].queryExecution.analyzed.collect {
      case relation: DataSourceV2Relation => relation.table
    }.collect { case table: SqlextTable => table.handle }.distinct.asJava

  /** Why Spark has to read the files of a query, in words; null if tasks can. */
  def whyNot(frame: DataFrame): String =
    below(frame.asInstanceOf[classic.DataFrame].queryExecution.executedPlan).flatMap(_.pieces).left.toOption.orNull

  /** The name of a column in a condition. */
  private def place(at: Int): String = s"c$at"

  /** The files of a plan; or why tasks cannot read them. */
  def below(plan: SparkPlan): Either[String, FilesByTask] = ScannedColumns.storedBelow(plan) match {
    case Some((filter: FilterExec, columns)) => ScannedColumns.storedBelow(filter.child) match {
      case Some((scan, stored)) =>
        val known = AttributeMap(filter.child.output.zip(stored))
        val condition = SharedCode.withLiterals(filter.condition).transform { case column: Attribute => known.getOrElse(column, column) }
        ofScan(scan, columns.map(known), Some(condition))
      case None => Left(computed)
    }
    case Some((scan, columns)) => ofScan(scan, columns, None)
    case None => Left(computed)
  }

  /** `columns` are those that are given, of the rows that satisfy `condition`. */
  private def ofScan(plan: SparkPlan, columns: Seq[Attribute], condition: Option[Expression]): Either[String, FilesByTask] = {
    val read = columns ++ condition.toSeq.flatMap(_.references.toSeq).filterNot(one => columns.exists(_.exprId == one.exprId))
    val told = condition.map(encoded(_, read))
    plan match {
      case _: AdaptiveSparkPlanExec => Left("rows are moved between tasks or sorted first, or the query has a subquery")
      case _: LeafExecNode if told.contains(None) => Left("the query has a condition that only Spark evaluates")
      case scan: FileSourceScanExec => ofFiles(scan, read, condition, told.flatten)
      case batch: BatchScanExec => batch.scan match {
        case own: SqlextScan => ofTable(batch, own, read, told.flatten)
        case _ => Left("the query reads another source than files")
      }
      case _: LeafExecNode => Left("the query reads no files")
      case _ => Left(computed)
    }
  }

  /** None for a condition that has no form in which it selects just the same rows. */
  private def encoded(condition: Expression, read: Seq[Attribute]): Option[Seq[Any]] = {
    val placed = condition.transform {
      case column: AttributeReference => column.withName(place(read.indexWhere(_.exprId == column.exprId)))
    }
    SparkInternals.translateFilter(placed).flatMap(PredicateJson.encodeExactly)
  }

  private def ofFiles(
      scan: FileSourceScanExec, columns: Seq[Attribute], condition: Option[Expression], told: Option[Seq[Any]]): Either[String, FilesByTask] = {
    val options = scan.relation.options
    val conf = scan.relation.sparkSession.sessionState.conf
    val lenient = new FileSourceOptions(CaseInsensitiveMap(options))
    val parquet = new ParquetOptions(options, conf)
    val stored = columns.map(column => scan.output.indexWhere(_.exprId == column.exprId))
    val why = Seq(
      (scan.relation.fileFormat.getClass != classOf[ParquetFileFormat]) -> "the query reads files that are not Parquet",
      (lenient.ignoreCorruptFiles || lenient.ignoreMissingFiles) -> "the query may pass over files",
      (parquet.datetimeRebaseModeInRead != "CORRECTED" || parquet.int96RebaseModeInRead != "CORRECTED" ||
        conf.isParquetINT96TimestampConversion) -> "the session changes times as it reads them",
      conf.parquetFieldIdReadEnabled -> "the session finds columns by field ids",
      scan.partitionFilters.exists(_.exists(_.isInstanceOf[PlanExpression[_]])) -> found,
      (!isTested(scan.dataFilters, condition) || stored.exists(place => place < 0 || place >= scan.requiredSchema.length)) -> computed)
    why.collectFirst { case (true, reason) => reason }.orElse(nested(columns)).toLeft {
      FilesByTask(scan, stored.map(scan.requiredSchema(_).name), columns.map(_.dataType), None, told)
    }
  }

  /** Whether the condition has all that the scan may pass over files and rows by. */
  private def isTested(filters: Seq[Expression], condition: Option[Expression]): Boolean = {
    val tested = ExpressionSet(condition.toSeq.flatMap(splitConjunctivePredicates))
    filters.forall(tested.contains)
  }

  private def ofTable(
      batch: BatchScanExec, scan: SqlextScan, columns: Seq[Attribute], told: Option[Seq[Any]]): Either[String, FilesByTask] = {
    val table = scan.table
    val stored = columns.map(column => table.storedSchema.find(_.name == column.name))
    val asShown = columns.zip(stored).forall { case (column, found) => found.exists(_.dataType == column.dataType) }
    val fields = stored.flatten
    val why = Seq(
      table.role.isInstanceOf[EqualityDeletes] -> computed,
      batch.runtimeFilters.nonEmpty -> found,
      !asShown -> "the query reads a column that is not stored, or as another type",
      InitialDefaults.of(StructType(FieldIds.onto(StructType(fields), table.schemaWithIds))).nonEmpty -> "the query reads a column with an initial default")
    why.collectFirst { case (true, reason) => reason }.orElse(nested(columns)).toLeft {
      FilesByTask(batch, fields.map(FieldIds.id(_).get), columns.map(_.dataType), Some(table.handle), told)
    }
  }

  private def nested(columns: Seq[Attribute]): Option[String] =
    columns.find(column => !isRead(column.dataType)).map(column => s"the query reads the column ${column.name} of type ${column.dataType.sql}")

  private def isRead(dataType: DataType): Boolean = dataType match {
    case StringType | BinaryType | BooleanType | IntegerType | LongType | FloatType | DoubleType | DateType => true
    case TimestampType | TimestampNTZType | _: DecimalType => true
    case _ => false
  }

  /** Why Spark has to read the file. A table's store is known, and of other files those of a local disk alone. */
  private[sqlext] def unread(file: PartitionedFile, ofTable: Boolean): Option[String] = {
    val known = file.otherConstantMetadataColumnValues
    val scheme = file.toPath.toUri.getScheme
    if (ofTable && (known.contains(FileReading.key) || known.contains(AbsentColumns.key))) Some(s"${file.toPath} has other columns or another format")
    else if (!ofTable && scheme != null && scheme != "file") Some("the query reads files that are not on a local disk")
    else None
  }

  /** The file and `shared`, which each file of a scan has. */
  private def described(file: PartitionedFile, shared: Map[String, Any]): Map[String, Any] = shared ++ Map(
    "path" -> (if (shared("table") == null) file.toPath.toUri.getPath else file.toPath.toString),
    "size" -> file.fileSize, "start" -> file.start, "length" -> file.length)

  /** The mark, JSON, a line feed, and the deletion vector. */
  private def packed(file: PartitionedFile, shared: Map[String, Any]): Array[Byte] = {
    val vector = file.otherConstantMetadataColumnValues.get(LiveRows.key) match {
      case Some(bytes: Array[Byte]) => bytes
      case _ => Array.emptyByteArray
    }
    val told = Bridge.encode(described(file, shared)).getBytes(UTF_8)
    ByteBuffer.allocate(8 + told.length + 1 + vector.length).order(ByteOrder.nativeOrder)
      .putLong(mark).put(told).put('\n'.toByte).put(vector).array
  }
}
