/* Spark's Table of the DataSource V2 interface, as Python describes it: columns, metadata columns, partitioning,
 * capabilities; and TableProvider, for `format("sqlext")`. Rows that are written never come here: rules hand writes to
 * Python. */
package io.sqlext

import java.util

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.{Expressions, Transform}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.{LiveSession, SparkInternals}
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import scala.jdk.CollectionConverters._

/** What a scan of a table gives. */
sealed trait Role
/** Live rows: the optimiser rule `ApplyDeletes` takes the deleted ones away. */
case object Rows extends Role
/** Rows of the data files that the rule reads under its filter: with `andDeletedFiles` all, else without those that are
  * deleted by position. Of all files, or of those alone that some equality delete may touch, or that none touches. */
case class StoredRows(andDeletedFiles: Boolean, touchedByKey: Option[Boolean] = None) extends Role
/** Keys of the equality deletes of one group. */
case class EqualityDeletes(group: Int) extends Role

/** A table as Python describes it: `handle` names the table at one version of its metadata, which `isPinned` says to
  * stay. `named` is its name by parts, where it was not looked up in a catalog; `refusal` is why no query can read
  * it at the newest version. */
class SqlextTable(val description: JsonNode, val role: Role, val takesAnyColumns: Boolean = false,
    val isPinned: Boolean = false, val named: Option[Seq[String]] = None, val refusal: Option[SqlextException] = None)
    extends Table with SupportsRead with SupportsWrite with SupportsMetadataColumns {
  /** When this was last known to be the newest version. */
  @volatile private[sqlext] var seen: Moment = Moment.now

  val handle: String = description.get("handle").asText
  val isMetadataTable: Boolean = description.get("metadata_table").asBoolean
  val hasPositionDeletes: Boolean = description.get("position_deletes").asBoolean
  val equalityDeletes: Seq[JsonNode] = description.get("equality_deletes").elements.asScala.toSeq
  /** Whether a scan that leaves out deleted rows is planned with those that equality deletes hit. */
  val resolvesKeys: Boolean = description.get("resolves_keys").asBoolean

  /** Which data files equality deletes may touch: "all", "some" or "none". */
  val equalityDeletesTouch: String = description.get("equality_deletes_touch").asText

  val reusedIds: Set[Long] = description.get("reused_ids").elements.asScala.map(_.asLong).toSet
  /** Top-level columns whose values tell files apart. */
  val clusteredColumns: Seq[String] = description.get("clustered_columns").elements.asScala.map(_.asText).toSeq
  def hasDeletes: Boolean = hasPositionDeletes || equalityDeletes.nonEmpty
  /** From format version 3 on, rows have ids. */
  val hasRowLineage: Boolean = description.get("row_lineage").asBoolean

  /** What is read of the data files, when it is not one of the table's own columns. */
  def lineage(name: String): Option[StructField] =
    if (hasRowLineage) MetadataColumns.lineage.find(_.name == name) else None

  /** Key columns of equality deletes that the table has no more, with their field ids. */
  def lostKeys: StructType = struct(description.get("lost_keys"))

  /** The columns with their field ids, for the Parquet reader. */
  val schemaWithIds: StructType = role match {
    case EqualityDeletes(group) => struct(equalityDeletes(group).get("schema"))
    case _: StoredRows => StructType(struct(description.get("schema")) ++ lostKeys)
    case Rows => struct(description.get("schema"))
  }

  /** The same columns, each leaf with the type that Parquet holds it as. */
  val storedSchema: StructType = struct(role match {
    case EqualityDeletes(group) => equalityDeletes(group).get("stored_schema")
    case _ => description.get("stored_schema")
  })

  private def struct(node: JsonNode): StructType = DataType.fromJson(node.toString).asInstanceOf[StructType]

  override def name: String = description.get("name").asText
  override def toString: String = name
  override val schema: StructType = FieldIds.without(schemaWithIds)

  override def properties: util.Map[String, String] =
    description.get("properties").properties.asScala.map(e => e.getKey -> e.getValue.asText).toMap.asJava

  override lazy val partitioning: Array[Transform] = description.get("partitioning").elements.asScala.map { field =>
    val name = field.get("column").elements.asScala.map(part => "`" + part.asText.replace("`", "``") + "`").mkString(".")
    val column = Expressions.column(name)
    field.get("transform").asText match {
      case "identity" => Expressions.identity(name)
      case "bucket" => Expressions.bucket(field.get("number").asInt, name)
      case "truncate" => Expressions.apply("truncate", Expressions.literal(field.get("number").asInt), column)
      case other => Expressions.apply(other + "s", column)
    }
  }.toArray

  override def capabilities: util.Set[TableCapability] =
    if (isMetadataTable) Set(TableCapability.BATCH_READ).asJava
    else (Set(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.TRUNCATE,
      TableCapability.OVERWRITE_BY_FILTER, TableCapability.OVERWRITE_DYNAMIC, TableCapability.STREAMING_WRITE,
      TableCapability.MICRO_BATCH_READ) ++
      Option.when(takesAnyColumns)(TableCapability.ACCEPT_ANY_SCHEMA)).asJava

  /** The fields of `_partition`, of all specs of the table. */
  val partition: StructType = if (isMetadataTable) StructType(Nil) else struct(description.get("partition"))

  override def metadataColumns: Array[MetadataColumn] =
    (if (isMetadataTable) Nil else MetadataColumns.of(this)).map(f => new MetadataColumn {
      override def name: String = f.name
      override def dataType: DataType = f.dataType
      override def isNullable: Boolean = f.nullable
    }).toArray

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = {
    refusal.foreach(throw _)
    requireRules()
    if (isMetadataTable) new MetadataScanBuilder(this) else new SqlextScanBuilder(this)
  }

  /** Nothing of Spark's: a rule has handed the write to Python. */
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = {
    requireRules()
    throw new UnsupportedOperationException("writes are handed to Python by an analysis rule")
  }

  private def requireRules(): Unit =
    if (!LiveSession.isWhole(SparkInternals.activeSession)) throw Bridge.refusal("refuse session", Map.empty)

  override def equals(other: Any): Boolean = other match {
    case t: SqlextTable => t.handle == handle && t.role == role && t.takesAnyColumns == takesAnyColumns && t.refusal.isEmpty && refusal.isEmpty
    case _ => false
  }
  override def hashCode: Int = (handle, role).hashCode
}

/** Columns a table gives beside its own. A scan of stored rows has the private ones, of which the rule that takes the
  * deleted rows away makes the others. */
object MetadataColumns {
  val file: StructField = StructField("_file", StringType, nullable = false)
  val position: StructField = StructField("_pos", LongType, nullable = false)
  val specId: StructField = StructField("_spec_id", IntegerType, nullable = false)
  val deleted: StructField = StructField("_deleted", BooleanType, nullable = false)
  val partitionName: String = "_partition"
  /** Whether an equality delete took the row, and no position delete: for the procedure that converts them. */
  val deletedByKey: StructField = StructField("_deleted_by_key", BooleanType, nullable = false)

  val sequenceNumber: StructField = StructField("__sqlext_sequence_number", LongType, nullable = false)
  val partitionKey: StructField = StructField("__sqlext_partition_key", StringType)
  val deletionVector: StructField = StructField("__sqlext_deletion_vector", BinaryType)
  val firstRowId: StructField = StructField("__sqlext_first_row_id", LongType)
  private val partitionPrefix = "__sqlext_partition_value_"

  /** Stored in files that rows were moved to, else null: what a user sees follows from the place of the row too. */
  val rowId: StructField = FieldIds.withId("_row_id", LongType, 2147483540L)
  val lastUpdated: StructField = FieldIds.withId("_last_updated_sequence_number", LongType, 2147483539L)
  val lineage: Seq[StructField] = Seq(rowId, lastUpdated)

  private def lineage(table: SqlextTable): Seq[StructField] = if (table.hasRowLineage) lineage else Nil

  /** What a query may name. */
  def public(table: SqlextTable): Seq[StructField] =
    Seq(file, position, specId, StructField(partitionName, table.partition), deleted, deletedByKey) ++
      lineage(table)

  /** What a scan of stored rows gives. */
  def stored(table: SqlextTable): Seq[StructField] =
    (constants :+ position) ++ partitionValues(table) ++ lineage(table)

  def of(table: SqlextTable): Seq[StructField] = if (table.role == Rows) public(table) else stored(table)

  /** The fields of `_partition`, each as a column of its own, since Spark's reader has no constants of struct type. */
  def partitionValues(table: SqlextTable): Seq[StructField] =
    table.partition.zipWithIndex.map { case (field, i) => field.copy(name = partitionPrefix + i) }

  def isPartitionValue(name: String): Boolean = name.startsWith(partitionPrefix)

  def partitionIndex(name: String): Int = name.substring(partitionPrefix.length).toInt

  /** What is the same in all rows of a file. */
  def isConstant(name: String): Boolean = constantNames(name) || isPartitionValue(name)

  private val constants = Seq(file, specId, sequenceNumber, partitionKey, deletionVector, firstRowId)
  private val constantNames = constants.map(_.name).toSet
}

/** `spark.read.format("sqlext").load(path)`: a table by its folder or metadata.json, known to no catalog; or by its
  * name in a catalog, as the path or the option `table`, which can be written to as well. */
class PathSource extends TableProvider with DataSourceRegister {
  override def shortName(): String = "sqlext"

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = load(options.asCaseSensitiveMap).schema

  override def getTable(schema: StructType, partitioning: Array[Transform], properties: util.Map[String, String]): Table =
    load(properties)

  private def load(options: util.Map[String, String]): SqlextTable = {
    val given = options.asScala.toMap
    def option(name: String) = given.collectFirst { case (key, value) if key.equalsIgnoreCase(name) => value }
    option("table").orElse(option("path").filter(isName)).map(SparkInternals.tableNamed) match {
      case Some((parts, table: SqlextTable)) => new SqlextTable(table.description, table.role, named = Some(parts))
      case Some((_, other)) => throw new IllegalArgumentException(s"${other.name} is no table of a sqlext catalog")
      case None => new SqlextTable(Bridge.ask("load path", Map("options" -> given)).get("table"), Rows)
    }
  }

  /** Whether a path begins with the name of a catalog; those of a file system have a slash. */
  private def isName(path: String): Boolean =
    !path.contains('/') && Parser.catalogsOf(SQLConf.get).exists { catalog =>
      Seq(s"$catalog.", s"`$catalog`.").exists(path.startsWith)
    }
}
