/* A rule of Spark's optimiser that takes deleted rows out of every relation on a sqlext table that has deletes (spec:
 * "Scan Planning"), and gives rows their ids where they are asked for.
 *
 * The scan leaves out positions that the file's deletion vector has, among them those of small sets of equality
 * deletes; larger sets are an anti join on the key with a smaller sequence number, within the partition where the
 * delete has one. Files that no equality delete touches are read beside that join. A query that names `_deleted` gets
 * the deleted rows as well, as in Iceberg. It is no rule of the analyser, which finds metadata columns such as `_pos`
 * only on a relation that stands bare under its alias. */
package io.sqlext

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.optimizer.ColumnPruning
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType, LeftAnti}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{BooleanType, StructType}

import scala.jdk.CollectionConverters._

object ApplyDeletes extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    lazy val used = usedColumns(plan)
    plan transform {
      case relation: DataSourceV2Relation => relation.table match {
        case t: SqlextTable if t.refusal.isDefined => throw t.refusal.get
        case t: SqlextTable if t.role == Rows && (t.hasDeletes || relation.output.exists(isComputed(t, _))) =>
          live(relation, t, used)
        case _ => relation
      }
    }
  }

  /** Columns that the plan has a use for; Spark adds all metadata columns of a table where one of them is named. */
  private def usedColumns(plan: LogicalPlan): AttributeSet =
    AttributeSet(ColumnPruning(plan).collect { case node if node.children.nonEmpty => node.references }.flatten)

  private def isComputed(table: SqlextTable, column: Attribute): Boolean =
    showsDeleted(table, column) || isHidden(table, column, MetadataColumns.partitionName) ||
      table.lineage(column.name).isDefined

  /** Whether a query that uses the column gets deleted rows too. */
  private def showsDeleted(table: SqlextTable, column: Attribute): Boolean =
    Seq(MetadataColumns.deleted, MetadataColumns.deletedByKey).exists(f => isHidden(table, column, f.name))

  /** Whether it is the metadata column, and not one of the table's own that has its name. */
  private def isHidden(table: SqlextTable, column: Attribute, name: String): Boolean =
    column.name == name && !table.schema.fieldNames.contains(name)

  private def live(relation: DataSourceV2Relation, table: SqlextTable, used: AttributeSet): LogicalPlan = {
    val marksDeleted = relation.output.exists(a => showsDeleted(table, a) && used.contains(a))
    def rows(of: DataSourceV2Relation, touchedByKey: Option[Boolean], joined: Boolean): LogicalPlan =
      live(of, table, StoredRows(marksDeleted, touchedByKey), if (joined) table.equalityDeletes.indices else Nil)
    val joins = table.equalityDeletes.nonEmpty && (marksDeleted || !table.resolvesKeys)
    table.equalityDeletesTouch match {
      case "some" if joins =>
        Union(Seq(rows(relation, Some(true), joined = true), rows(relation.newInstance(), Some(false), joined = false)))
      case touched => rows(relation, None, joined = joins && touched != "none")
    }
  }

  /** `groups` are those of the equality deletes that are joined. */
  private def live(relation: DataSourceV2Relation, table: SqlextTable, role: StoredRows, groups: Seq[Int]): LogicalPlan = {
    val kept = relation.output.filterNot(isComputed(table, _))
    val source = new SqlextTable(table.description, role)
    val stored = withLostKeys(withMetadata(relation.copy(table = source, output = kept)), table)
    val column = stored.output.map(a => a.name -> a).toMap
    val (rows, byKey) =
      if (role.andDeletedFiles) marked(table, stored, column, relation, groups)
      else (groups.foldLeft[LogicalPlan](stored)(joinKeys(table, column, relation, _ => LeftAnti)), Literal.FalseLiteral)
    val byPosition = if (role.andDeletedFiles) deletedByPosition(column) else Literal.FalseLiteral
    Project(relation.output.map {
      case a if isHidden(table, a, MetadataColumns.deleted.name) => Alias(Or(byPosition, byKey), a.name)(a.exprId, a.qualifier)
      case a if isHidden(table, a, MetadataColumns.deletedByKey.name) =>
        Alias(And(Not(byPosition), byKey), a.name)(a.exprId, a.qualifier)
      case a if isHidden(table, a, MetadataColumns.partitionName) => Alias(partition(table, column), a.name)(a.exprId, a.qualifier)
      case a => lineage(table, column, a)
    }, rows)
  }

  /** All stored rows, and what tells for each whether an equality delete has its key. */
  private def marked(table: SqlextTable, stored: LogicalPlan, column: Map[String, Attribute],
      relation: DataSourceV2Relation, groups: Seq[Int]): (LogicalPlan, Expression) = {
    val marks = groups.map(i => i -> AttributeReference(s"__sqlext_deleted_$i", BooleanType, nullable = false)()).toMap
    val rows = groups.foldLeft(stored)(joinKeys(table, column, relation, i => ExistenceJoin(marks(i))))
    (rows, marks.values.reduceOption[Expression](Or).getOrElse(Literal.FalseLiteral))
  }

  private def partition(table: SqlextTable, column: Map[String, Attribute]): Expression = {
    val values = table.partition.fieldNames.toSeq.zip(MetadataColumns.partitionValues(table).map(f => column(f.name)))
    if (values.isEmpty) Literal(null, table.partition)
    else CreateNamedStruct(values.flatMap { case (name, value) => Seq(Literal(name), value) })
  }

  /** The id of a row by its place in the file, or the one that moved with it; null while the file has none (spec: Row
    * Lineage). */
  private def lineage(table: SqlextTable, column: Map[String, Attribute], asked: Attribute): NamedExpression =
    table.lineage(asked.name) match {
      case None => asked
      case Some(field) =>
        val first = column(MetadataColumns.firstRowId.name)
        val inherited = if (field == MetadataColumns.rowId) new Add(first, column(MetadataColumns.position.name))
          else column(MetadataColumns.sequenceNumber.name)
        val value = If(IsNull(first), Literal(null, asked.dataType), Coalesce(Seq(column(asked.name), inherited)))
        Alias(value, asked.name)(exprId = asked.exprId, qualifier = asked.qualifier, explicitMetadata = Some(asked.metadata))
    }

  private def withMetadata(relation: DataSourceV2Relation): DataSourceV2Relation = {
    val there = relation.output.map(_.name).toSet
    val missing = MetadataColumns.stored(relation.table.asInstanceOf[SqlextTable]).filterNot(f => there(f.name))
    relation.copy(output = relation.output ++ missing.map(f => AttributeReference(f.name, f.dataType, f.nullable)()))
  }

  /** Key columns of deletes that the table has no more. */
  private def withLostKeys(relation: DataSourceV2Relation, table: SqlextTable): DataSourceV2Relation =
    relation.copy(output = relation.output ++
      FieldIds.without(table.lostKeys).map(f => AttributeReference(f.name, f.dataType, f.nullable)()))

  private def deletedByPosition(column: Map[String, Attribute]): Expression =
    StaticInvoke(classOf[DeletionVector], BooleanType, "deleted",
      Seq(column(MetadataColumns.deletionVector.name), column(MetadataColumns.position.name)),
      propagateNull = false, returnNullable = false)

  private def joinKeys(table: SqlextTable, column: Map[String, Attribute], relation: DataSourceV2Relation, how: Int => JoinType)
      (rows: LogicalPlan, group: Int): LogicalPlan = {
    val deletes = new SqlextTable(table.description, EqualityDeletes(group))
    val keys = withMetadata(DataSourceV2Relation.create(deletes, None, None, relation.options))
    val key = keys.output.map(a => a.name -> a).toMap
    val described = table.equalityDeletes(group)
    val equal = described.get("keys").elements.asScala.toSeq.map { paths =>
      val own = at(column, paths.get(0))
      if (own.nullable) EqualNullSafe(own, at(key, paths.get(1))) else EqualTo(own, at(key, paths.get(1)))
    }
    val partitionKey = MetadataColumns.partitionKey.name
    val samePartition =
      if (described.get("partitioned").asBoolean)
        Some(Or(IsNull(key(partitionKey)), EqualTo(column(partitionKey), key(partitionKey))))
      else None
    val older = LessThan(column(MetadataColumns.sequenceNumber.name), key(MetadataColumns.sequenceNumber.name))
    Join(rows, keys, how(group), (equal ++ samePartition :+ older).reduceOption(And), JoinHint.NONE)
  }

  /** The column, or the field inside it, of a name by parts. */
  private def at(columns: Map[String, Attribute], path: JsonNode): Expression = {
    val parts = path.elements.asScala.map(_.asText).toSeq
    parts.tail.foldLeft(columns(parts.head): Expression) { (struct, name) =>
      GetStructField(struct, struct.dataType.asInstanceOf[StructType].fieldIndex(name), Some(name))
    }
  }
}
