/* The files of a plan as Spark's PartitionedFile, in pieces of the size that Spark's settings ask for.
 *
 * Each comes with the values of the columns `constants`, which are the same in all its rows, and with what its reader
 * must know beside the columns `stored`, its deletion vector too if that `appliesVectors`. A query over many files is
 * made of many of these before its first task runs: nothing is looked up for a file that no file of the plan has. */
package io.sqlext

import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types._

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

private[sqlext] class PlannedFiles(plan: JsonNode, stored: Seq[StructField], constants: StructType, wantsPosition: Boolean,
    appliesVectors: Boolean) {
  private val files = plan.get("files")
  private val paths = new FilePaths
  private val readings = plan.get("readings")
  private val (fileReadings, absent) = (some("file_readings"), some("absent_columns"))

  def count: Int = files.size

  def bytes: Long = files.elements.asScala.map(PlannedFiles.size).sum

  /** Pieces of these files of at most `splitBytes`, the largest first. */
  def splits(numbers: Seq[Int], splitBytes: Long): Seq[PartitionedFile] = {
    val pieces = new ArrayBuffer[PartitionedFile](numbers.size)
    numbers.foreach(addPieces(_, splitBytes, pieces))
    pieces.sortBy(_.length)(Ordering.Long.reverse).toSeq
  }

  private def addPieces(number: Int, splitBytes: Long, pieces: ArrayBuffer[PartitionedFile]): Unit = {
    val file = files.get(number)
    val values = if (constants.isEmpty) InternalRow.empty else InternalRow.fromSeq(constants.map(constant(file, _)))
    val path = paths.encoded(file.get(0).asText)
    val whole = PlannedFiles.size(file)
    val reading = fileReadings.flatMap(numbers => Option(numbers.get(number))).filterNot(_.isNull).map(n => readings.get(n.asInt))
    val vector = if (appliesVectors && PlannedFiles.hasVector(file)) Some(Base64.getDecoder.decode(file.get(PlannedFiles.vectorAt).asText)) else None
    val known = described(number, reading) ++ vector.map(LiveRows.key -> _)
    val most = if ((wantsPosition || vector.isDefined) && reading.exists(new FileReading(_).countsFromStart)) whole else splitBytes
    var start = 0L
    while (start < whole) {
      val length = math.min(most, whole - start)
      pieces += PartitionedFile(values, path, start, length, fileSize = whole, otherConstantMetadataColumnValues = known)
      start += length
    }
  }

  private def some(name: String): Option[JsonNode] = Option(plan.get(name)).filterNot(_.isEmpty)

  private def described(number: Int, reading: Option[JsonNode]): Map[String, Any] =
    if (reading.isEmpty && absent.isEmpty) Map.empty
    else reading.map(FileReading.key -> _.toString).toMap ++
      absent.flatMap(columns => absentColumns(columns.get(number))).map(AbsentColumns.key -> _)

  private def absentColumns(columns: JsonNode): Option[Map[Int, Any]] =
    Option(columns).filterNot(_.isNull).map(_.properties.asScala.flatMap { e =>
      val place = stored.indexWhere(_.name == e.getKey)
      Option.when(place >= 0)(place -> JsonValue.decode(e.getValue, stored(place).dataType))
    }.toMap)

  private def constant(file: JsonNode, field: StructField): Any =
    if (MetadataColumns.isPartitionValue(field.name)) JsonValue.decode(file.get(7).get(MetadataColumns.partitionIndex(field.name)), field.dataType)
    else JsonValue.decode(file.get(PlannedFiles.places(field.name)), field.dataType)

}

private[sqlext] object PlannedFiles {
  /** Where the plan has the deletion vector of a file. */
  private val vectorAt = 4

  def size(file: JsonNode): Long = file.get(1).asLong

  def hasVector(file: JsonNode): Boolean = !file.get(vectorAt).isNull

  /** Where the plan has a constant of a file. */
  private val places = Map(
    MetadataColumns.file.name -> 0, MetadataColumns.sequenceNumber.name -> 2, MetadataColumns.partitionKey.name -> 3,
    MetadataColumns.deletionVector.name -> vectorAt, MetadataColumns.firstRowId.name -> 5,
    MetadataColumns.specId.name -> 6)
}
