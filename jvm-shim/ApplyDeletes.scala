package io.sqlext

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.LeftAnti
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.BooleanType

import scala.jdk.CollectionConverters._

/** Takes deleted rows out of every relation on a sqlext table that has deletes (spec: "Scan Planning"), and gives rows
  * their ids where they are asked for.
  *
  * Positions are a filter on the file's deletion vector; equality deletes are an anti join on the key with a smaller
  * sequence number, within the partition where the delete has one. A rule of the optimizer, since the analyser finds
  * metadata columns such as `_pos` only on a relation that stands bare under its alias. */
object ApplyDeletes extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan transform {
    case relation: DataSourceV2Relation => relation.table match {
      case t: SqlextTable if t.role == Rows && (t.hasDeletes || relation.output.exists(a => t.lineage(a.name).isDefined)) =>
        live(relation, t)
      case _ => relation
    }
  }

  private def live(relation: DataSourceV2Relation, table: SqlextTable): LogicalPlan = {
    val storedOutput = relation.output.map(a => if (table.lineage(a.name).isDefined) a.newInstance() else a)
    val stored = withMetadata(relation.copy(table = new SqlextTable(table.description, StoredRows), output = storedOutput))
    val column = stored.output.map(a => a.name -> a).toMap
    val positioned = if (table.hasPositionDeletes) Filter(Not(deletedByPosition(column)), stored) else stored
    val kept = table.equalityDeletes.indices.foldLeft(positioned: LogicalPlan)(withoutKeys(table, column, relation))
    Project(relation.output.map(a => lineage(table, column, a)), kept)
  }

  /** The id of a row by its place in the file, or the one that moved with it; null while the file has none (spec: Row
    * Lineage). */
  private def lineage(table: SqlextTable, column: Map[String, Attribute], asked: Attribute): NamedExpression =
    table.lineage(asked.name) match {
      case None => asked
      case Some(field) =>
        val first = column("_first_row_id")
        val inherited = if (field == MetadataColumns.rowId) new Add(first, column("_pos")) else column("_sequence_number")
        val value = If(IsNull(first), Literal(null, asked.dataType), Coalesce(Seq(column(asked.name), inherited)))
        Alias(value, asked.name)(exprId = asked.exprId, qualifier = asked.qualifier, explicitMetadata = Some(asked.metadata))
    }

  private def withMetadata(relation: DataSourceV2Relation): DataSourceV2Relation = {
    val there = relation.output.map(_.name).toSet
    val missing = MetadataColumns.all.filterNot(f => there(f.name))
    relation.copy(output = relation.output ++ missing.map(f => AttributeReference(f.name, f.dataType, f.nullable)()))
  }

  private def deletedByPosition(column: Map[String, Attribute]): Expression =
    StaticInvoke(classOf[DeletionVector], BooleanType, "deleted",
      Seq(column("_deletion_vector"), column("_pos")), propagateNull = false, returnNullable = false)

  private def withoutKeys(table: SqlextTable, column: Map[String, Attribute], relation: DataSourceV2Relation)
      (rows: LogicalPlan, group: Int): LogicalPlan = {
    val deletes = new SqlextTable(table.description, EqualityDeletes(group))
    val keys = withMetadata(DataSourceV2Relation.create(deletes, None, None, relation.options))
    val key = keys.output.map(a => a.name -> a).toMap
    val described = table.equalityDeletes(group)
    val equal = deletes.schema.fieldNames.toSeq.zip(described.get("columns").elements.asScala.map(_.asText).toSeq).map {
      case (name, own) if !column(own).nullable => EqualTo(column(own), key(name))
      case (name, own) => EqualNullSafe(column(own), key(name))
    }
    val samePartition =
      if (described.get("partitioned").asBoolean)
        Some(Or(IsNull(key("_partition_key")), EqualTo(column("_partition_key"), key("_partition_key"))))
      else None
    val older = LessThan(column("_sequence_number"), key("_sequence_number"))
    Join(rows, keys, LeftAnti, (equal ++ samePartition :+ older).reduceOption(And), JoinHint.NONE)
  }
}
