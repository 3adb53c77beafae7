package io.sqlext

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types._

import scala.jdk.CollectionConverters._

/** Fields that a file holds in the type they had before it was widened (spec: Schema Evolution, type promotion).
  *
  * They are read in that type and widened where they are used: Spark's reader widens the values of most encodings
  * one by one. */
object Promotion {
  /** The key, among a file's constants, of the ids of such fields. */
  val key = "sqlext_unpromoted"

  def unpromoted(file: PartitionedFile): Set[Long] = file.otherConstantMetadataColumnValues.get(key) match {
    case Some(ids: Set[Long @unchecked]) => ids
    case _ => Set.empty
  }

  /** The ids as a plan has them for a file, null for none. */
  def decode(ids: JsonNode): Option[Set[Long]] = Option(ids).filterNot(_.isNull).map(_.elements.asScala.map(_.asLong).toSet)

  /** The columns with the types that these fields had. A file that has a field needs no default of it. */
  def undone(columns: StructType, ids: Set[Long]): StructType =
    if (ids.isEmpty) columns
    else FieldIds.changed(columns) { f =>
      if (FieldIds.id(f).exists(ids)) InitialDefaults.without(Seq(f)).head.copy(dataType = before(f.dataType)) else f
    }

  private def before(dataType: DataType): DataType = dataType match {
    case LongType => IntegerType
    case DoubleType => FloatType
    case other => other
  }
}
