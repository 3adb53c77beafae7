package io.sqlext

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.{Expression, Expressions, NamedReference, Transform}
import org.apache.spark.sql.connector.read.{HasPartitionKey, InputPartition}
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

import scala.jdk.CollectionConverters._

/** The buckets by which a scan's files are apart, so that Spark joins tables bucketed alike without a shuffle. */
case class Grouping(transforms: Seq[Transform]) {
  def keys: Array[Expression] = transforms.toArray

  /** The partition fields, as Python knows them: source column and transform. */
  def columns: Seq[String] = transforms.map(Grouping.source)

  /** The buckets of a planned file; null where the column is. */
  def key(file: JsonNode): Seq[Any] =
    file.get(8).elements.asScala.map(bucket => if (bucket.isNull) null else bucket.asInt: Any).toSeq
}

object Grouping {
  /** None unless Spark joins by reported partitions, and the columns of the table's buckets are read. */
  def of(table: SqlextTable, read: StructType): Option[Grouping] = {
    val buckets = table.partitioning.toSeq.filter(_.name == "bucket")
    val there = buckets.forall(b => read.fieldNames.contains(source(b)))
    if (SQLConf.get.v2BucketingEnabled && buckets.nonEmpty && there && !table.role.isInstanceOf[EqualityDeletes]) Some(Grouping(buckets))
    else None
  }

  /** Top-level columns that the table's current partitioning keeps as they are. */
  def identityColumns(table: SqlextTable): Set[String] =
    table.partitioning.filter(t => t.name == "identity" && t.references.head.fieldNames.length == 1).map(source).toSet

  /** A top-level column; its name may hold dots of its own. */
  def reference(name: String): NamedReference = Expressions.column("`" + name.replace("`", "``") + "`")

  private def source(transform: Transform): String = transform.references.head.fieldNames.mkString(".")
}

/** Files of one key. */
case class KeyedPartition(partitionKey: InternalRow, files: FilePartition) extends InputPartition with HasPartitionKey {
  override def preferredLocations: Array[String] = files.preferredLocations
}
