/* Initial defaults: what a field has in files that are older than it (spec: Default Values), where Spark's
 * `EXISTS_DEFAULT` falls short.
 *
 * Spark's vectorised reader gives those of most top-level columns by itself; its row by row reader would give them for
 * stored nulls too, and none of its readers gives those of fields inside structs. */
package io.sqlext

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.{GroupType, Type}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types._
import org.apache.spark.util.SerializableConfiguration

import scala.jdk.CollectionConverters._

object InitialDefaults {
  private val key = "EXISTS_DEFAULT"

  /** The defaults of all fields, at any depth, by field id; `columns` have ids and the types that the table shows. */
  def of(columns: StructType): Map[Long, Any] = columns.flatMap { field =>
    val own = if (field.metadata.contains(key))
        Seq(FieldIds.id(field).get -> ResolveDefaultColumns.existenceDefaultValues(StructType(Seq(field)))(0))
      else Nil
    own ++ inside(field.dataType)
  }.toMap

  private def inside(dataType: DataType): Map[Long, Any] = dataType match {
    case s: StructType => of(s)
    case a: ArrayType => inside(a.elementType)
    case m: MapType => inside(m.keyType) ++ inside(m.valueType)
    case _ => Map.empty
  }

  /** Top-level columns with those defaults only that Spark's reader of Parquet gives right: in batches, and no decimal
    * whose digits do not fit a long. */
  def leftToSpark(columns: StructType, batches: Boolean): StructType = StructType(columns.flatMap(f => f.dataType match {
    case d: DecimalType if d.precision > Decimal.MAX_LONG_DIGITS => without(Seq(f))
    case _ => if (batches) Seq(f) else without(Seq(f))
  }))

  /** Top-level columns without what Spark's readers would give. */
  def without(columns: Seq[StructField]): Seq[StructField] =
    columns.map(f => f.copy(metadata = new MetadataBuilder().withMetadata(f.metadata).remove(key).build()))

  /** The fields that Spark's reader is to give by itself. */
  def given(columns: Seq[StructField]): Set[Long] = columns.filter(_.metadata.contains(key)).flatMap(FieldIds.id).toSet

  /** The defaults that a Parquet file lacks the fields of; its footer is read where there are any. */
  def absentFrom(spark: SparkSession, defaults: Map[Long, Any], hadoop: Configuration): PartitionedFile => Map[Long, Any] =
    if (defaults.isEmpty) _ => Map.empty
    else {
      val shared = KeptReaders.configuration(spark, hadoop)
      file => defaults -- idsIn(file, shared)
    }

  private def idsIn(file: PartitionedFile, hadoop: Broadcast[SerializableConfiguration]): Set[Long] = {
    val reader = ParquetFileReader.open(HadoopInputFile.fromPath(file.toPath, hadoop.value.value))
    try ids(reader.getFooter.getFileMetaData.getSchema)
    finally reader.close()
  }

  private def ids(group: GroupType): Set[Long] = group.getFields.asScala.flatMap { (field: Type) =>
    Option(field.getId).map(_.intValue.toLong) ++ (if (field.isPrimitive) Nil else ids(field.asGroupType))
  }.toSet
}
