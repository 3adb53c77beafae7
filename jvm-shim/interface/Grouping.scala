/* Storage-partitioned joins: the partition keys that a scan reports (SupportsReportPartitioning) and that its input
 * partitions have (HasPartitionKey), so that Spark joins tables partitioned alike without a shuffle. */
package io.sqlext

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.{Expression, Expressions, NamedReference, Transform}
import org.apache.spark.sql.connector.read.{HasPartitionKey, InputPartition}
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

import scala.jdk.CollectionConverters._

/** The partition fields by which a scan's files are apart, so that Spark joins tables partitioned alike without a
  * shuffle. */
case class Grouping(table: SqlextTable, fields: Seq[Int]) {
  def keys: Array[Expression] = fields.map(table.partitioning.apply(_): Expression).toArray

  /** The values of the fields of a planned file. */
  def key(file: JsonNode): Seq[Any] =
    file.get(8).elements.asScala.toSeq.zip(fields).map { case (value, i) => JsonValue.decode(value, keyType(table.partitioning.apply(i))) }

  private def keyType(transform: Transform): DataType =
    if (transform.name == "identity") table.schema(Grouping.source(transform)).dataType else IntegerType
}

object Grouping {
  /** As Iceberg's, but that buckets are kept apart unless it is false: a task for each other partition, however many
    * and however large they are, is what a query without a join pays for. */
  private val setting = "spark.sql.iceberg.planning.preserve-data-grouping"

  /** None unless Spark joins by reported partitions, and the columns of some partition fields are read. */
  def of(table: SqlextTable, read: StructType): Option[Grouping] = {
    val wanted = Option(SQLConf.get.getConfString(setting, null)).map(_.toBoolean)
    val fields = table.partitioning.indices.filter { i =>
      val transform = table.partitioning.apply(i)
      val column = transform.references.head.fieldNames
      column.length == 1 && read.fieldNames.contains(column.head) && (transform.name match {
        case "bucket" => wanted.forall(identity)
        case "identity" => wanted.contains(true) && isCompared(table.schema(column.head).dataType)
        case "years" | "months" | "days" | "hours" => wanted.contains(true)
        case _ => false // of a function of two arguments Spark takes buckets alone
      })
    }
    if (SQLConf.get.v2BucketingEnabled && fields.nonEmpty && !table.role.isInstanceOf[EqualityDeletes]) Some(Grouping(table, fields)) else None
  }

  private def isCompared(value: DataType): Boolean = value match {
    case BooleanType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType | StringType | _: DecimalType => true
    case _ => false
  }

  /** A top-level column; its name may hold dots of its own. */
  def reference(name: String): NamedReference = Expressions.column("`" + name.replace("`", "``") + "`")

  private def source(transform: Transform): String = transform.references.head.fieldNames.head
}

/** Files of one key. */
case class KeyedPartition(partitionKey: InternalRow, files: FilePartition) extends InputPartition with HasPartitionKey {
  override def preferredLocations: Array[String] = files.preferredLocations
}
