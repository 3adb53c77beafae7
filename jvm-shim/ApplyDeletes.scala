package io.sqlext

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.LeftAnti
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.BooleanType

import scala.jdk.CollectionConverters._

/** Takes deleted rows out of every relation on a sqlext table that has deletes (spec: "Scan Planning").
  *
  * Positions are a filter on the file's deletion vector; equality deletes are an anti join on the key with a smaller
  * sequence number, within the partition where the delete has one. A rule of the optimizer, since the analyser finds
  * metadata columns such as `_pos` only on a relation that stands bare under its alias. */
object ApplyDeletes extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan transform {
    case relation: DataSourceV2Relation => relation.table match {
      case t: SqlextTable if t.role == Rows && t.hasDeletes => live(relation, t)
      case _ => relation
    }
  }

  private def live(relation: DataSourceV2Relation, table: SqlextTable): LogicalPlan = {
    val stored = withMetadata(relation.copy(table = new SqlextTable(table.description, StoredRows)))
    val column = stored.output.map(a => a.name -> a).toMap
    val positioned = if (table.hasPositionDeletes) Filter(Not(deletedByPosition(column)), stored) else stored
    val kept = table.equalityDeletes.indices.foldLeft(positioned: LogicalPlan)(withoutKeys(table, column, relation))
    Project(relation.output, kept)
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
