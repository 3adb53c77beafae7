/* Commands of Spark (LeafRunnableCommand) that Python runs: statements that it parsed, writes of DataFrames and
 * INSERTs that Spark resolved, CREATE TABLE AS SELECT of a DataFrame; and the rule that puts them in the place of
 * Spark's. */
package io.sqlext

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.{Row, SparkSession, classic}
import org.apache.spark.sql.catalyst.analysis.{NamedRelation, ResolvedIdentifier, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.sqlext.{EvolvingWrite, SparkInternals, StatementErrors}
import org.apache.spark.sql.types.{ArrayType, BooleanType, IntegerType, LongType, MapType, StructType, TimestampType}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/** A statement that Python parsed and will run; `context` is its text with the names it is resolved against.
  *
  * Spark opens its catalog before it runs; one that Python refused has none. Rows of types that JSON has not, which have
  * the columns of a table, are `kept` here. */
case class PythonCommand(context: Map[String, Any], title: String, catalog: Option[String], result: StructType, kept: Boolean = false)
    extends LeafRunnableCommand {
  override val output: Seq[Attribute] = result.map(f => AttributeReference(f.name, f.dataType, f.nullable)())

  override def simpleString(maxFields: Int): String = s"PythonCommand ${context("text")}"

  override def run(session: SparkSession): Seq[Row] = {
    catalog.foreach(session.asInstanceOf[classic.SparkSession].sessionState.catalogManager.catalog)
    val answer =
      try Bridge.run(session, "statement", title, if (kept) context + ("result" -> Bridge.decode(result.json)) else context, null)
      catch { case NonFatal(failure) => throw StatementErrors.placed(failure, context("text").toString) }
    if (kept) KeptRows.take(answer.get("kept").asText)
    else answer.get("rows").elements.asScala.map(row => Row.fromSeq(result.indices.map(i => value(row.get(i), i)))).toSeq
  }

  private def value(node: JsonNode, column: Int): Any =
    if (node.isNull) null
    else result(column).dataType match {
      case LongType => node.asLong
      case IntegerType => node.asInt
      case BooleanType => node.asBoolean
      case TimestampType => DateTimeUtils.microsToInstant(node.asLong)
      case _: ArrayType => node.elements.asScala.map(_.asText).toSeq
      case _: MapType => node.fields.asScala.map(entry => entry.getKey -> entry.getValue.asText).toMap
      case _ => node.asText
    }
}

/** A statement that Python could not be asked about, or whose result has no schema. A parser may throw only Spark's own
  * errors of syntax. */
case class UnaskedStatement(failure: Throwable) extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = throw failure
}

/** Rows of a DataFrame, or of an INSERT that Spark resolved, on their way to Python, which puts them into the table's
  * columns and types. It answers with its counts, but for one of several in a statement. */
case class PythonWrite(title: String, arguments: Map[String, Any], query: LogicalPlan, counted: Boolean = true) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = if (counted) RowCounts.columns else Nil

  override def innerChildren: Seq[QueryPlan[_]] = Seq(query)

  override def run(session: SparkSession): Seq[Row] = {
    val answer = Bridge.run(session, "write", title, arguments, SparkInternals.ofRows(session.asInstanceOf[classic.SparkSession], query))
    if (counted) RowCounts.rows(answer) else Nil
  }
}

/** A table that is made, or replaced, with the rows of a DataFrame in one commit; Spark's own plan makes it empty
  * first. */
case class PythonCreate(title: String, arguments: Map[String, Any], query: LogicalPlan) extends LeafRunnableCommand {
  override def innerChildren: Seq[QueryPlan[_]] = Seq(query)

  override def run(session: SparkSession): Seq[Row] = {
    Bridge.run(session, "create", title, arguments, SparkInternals.ofRows(session.asInstanceOf[classic.SparkSession], query))
    Seq.empty
  }
}

/** Hands every resolved V2 write on a sqlext table to Python. */
object WritesToPython extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperatorsUp {
    // FROM … INSERT INTO a … INSERT INTO b …: Spark runs the union of the commands, and cannot take rows from them.
    case union: Union => union.mapChildren { case write: PythonWrite => write.copy(counted = false); case other => other }
    case c: CreateTableAsSelect => create(c.name, c.query, c.partitioning, c.tableSpec, c.writeOptions,
      "replaces" -> false, "creates" -> true, "if_not_exists" -> c.ignoreIfExists).getOrElse(c)
    case r: ReplaceTableAsSelect => create(r.name, r.query, r.partitioning, r.tableSpec, r.writeOptions,
      "replaces" -> true, "creates" -> r.orCreate, "if_not_exists" -> false).getOrElse(r)
    case write: V2WriteCommand if write.resolved && write.query.resolved =>
      write.table match {
        case relation @ DataSourceV2Table(table) => replace(write, table, optionsOf(relation), nameIn(relation)).getOrElse(write)
        case _ => write
      }
  }

  private def create(name: LogicalPlan, query: LogicalPlan, partitioning: Seq[Transform], spec: TableSpecBase,
      options: Map[String, String], how: (String, Any)*): Option[LogicalPlan] = (name, spec) match {
    case (ResolvedIdentifier(catalog: Catalog, table), resolved: TableSpec) if query.resolved && catalog.makes(resolved.provider) =>
      Some(PythonCreate(s"CREATE TABLE ${(catalog.name +: table.namespace.toSeq :+ table.name).mkString(".")}", Map(
        "catalog" -> catalog.name,
        "namespace" -> table.namespace.toSeq,
        "name" -> table.name,
        "schema" -> SparkInternals.asNullable(query.schema).json,
        "partitioning" -> partitioning.map(Catalog.describe),
        "options" -> options,
        "properties" -> SparkInternals.tableProperties(resolved)) ++ how, query))
    case _ => None
  }

  /** The options that have the table's name, where it came by its format. */
  private def nameIn(relation: NamedRelation): Set[String] = relation match {
    case r: DataSourceV2Relation if r.identifier.isEmpty => Set("path", "table")
    case _ => Set.empty
  }

  /** Those of `WITH (…)` behind the name in INSERT … REPLACE WHERE, which are none of the write's to Spark. */
  private def optionsOf(relation: NamedRelation): Map[String, String] = relation match {
    case r: DataSourceV2Relation => r.options.asCaseSensitiveMap.asScala.toMap - UnresolvedRelation.REQUIRED_WRITE_PRIVILEGES
    case _ => Map.empty
  }

  private def replace(write: V2WriteCommand, table: SqlextTable, behindName: Map[String, String],
      named: Set[String]): Option[LogicalPlan] = {
    def command(mode: String, options: Map[String, String], more: (String, Any)*) =
      Some(PythonWrite(s"INSERT ${if (mode == "append") "INTO" else "OVERWRITE"} ${table.name}", Map("table" -> table.handle, "mode" -> mode,
        "options" -> (behindName ++ options).filterNot { case (name, _) => named(name.toLowerCase(java.util.Locale.ROOT)) },
        "by_name" -> write.isByName, "evolving" -> EvolvingWrite.is(write)) ++ more, write.query))
    write match {
      case a: AppendData => command("append", a.writeOptions)
      case o: OverwriteByExpression if o.deleteExpr == Literal.TrueLiteral => command("overwrite", o.writeOptions)
      case o: OverwriteByExpression =>
        val condition = folded(o.deleteExpr)
        RowExpressions.requireCondition(condition, "the overwrite")
        val filter = SparkInternals.translateFilter(condition).flatMap(PredicateJson.encodeExactly).orNull
        command("overwrite where", o.writeOptions, "condition" -> condition.sql, "filter" -> filter)
      case o: OverwritePartitionsDynamic => command("overwrite partitions", o.writeOptions)
      case _ => None
    }
  }

  /** Constants as literals, so that a filter can say them, and the same at each place where they are used. */
  private def folded(condition: Expression): Expression = condition.transformUp {
    case e if e.foldable && !e.isInstanceOf[Literal] => Literal(e.eval(), e.dataType)
  }
}

private object DataSourceV2Table {
  def unapply(relation: Any): Option[SqlextTable] = relation match {
    case r: DataSourceV2Relation => r.table match { case t: SqlextTable => Some(t); case _ => None }
    case _ => None
  }
}
