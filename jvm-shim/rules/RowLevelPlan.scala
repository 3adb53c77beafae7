/* MERGE, UPDATE and DELETE that Spark resolved, such as DataFrame.mergeInto: rules of the analyser that describe them
 * to Python, a command that has Python run them, and the functions by which its SQL calls for what the plan holds. */
package io.sqlext

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.sqlext.StatementErrors
import org.apache.spark.sql.types.{ByteType, IntegerType, LongType, ShortType, StructType}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/** A MERGE, UPDATE or DELETE that Spark resolved, such as DataFrame.mergeInto: `statement` describes it to Python with
  * texts that call for what `given` holds, under the key that it is told. */
case class PythonRowChange(title: String, statement: String => Map[String, Any], given: Given) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = RowCounts.columns

  override def innerChildren: Seq[QueryPlan[_]] = given.source.toSeq

  override def simpleString(maxFields: Int): String = "PythonRowChange"

  override def run(session: SparkSession): Seq[Row] = given.asKey { key =>
    val answer =
      try Bridge.run(session, "row change", title, statement(key), null)
      catch { case NonFatal(failure) => throw StatementErrors.placed(failure, "") }
    RowCounts.rows(answer)
  }
}

/** How many rows a change inserted, updated and deleted; null where that is not known. */
object RowCounts {
  def columns: Seq[Attribute] =
    Seq("affected", "inserted", "updated", "deleted").map(n => AttributeReference(s"num_${n}_rows", LongType)())

  def rows(answer: JsonNode): Seq[Row] = answer.get("rows").elements.asScala
    .map(row => Row.fromSeq(row.elements.asScala.map(n => if (n.isNull) null else n.asLong).toSeq)).toSeq
}

/** Parts of a plan that the SQL which stands in for it names, while it runs. */
case class Given(source: Option[LogicalPlan], expressions: Seq[Expression]) {
  def asKey[T](run: String => T): T = {
    val key = UUID.randomUUID.toString
    Given.all.put(key, this)
    try run(key)
    finally Given.all.remove(key)
  }
}

object Given {
  private val all = new ConcurrentHashMap[String, Given]()

  /** `sqlext_given('key', n)`: the expression of that number. */
  val expression: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_given"),
    new ExpressionInfo(classOf[Expression].getName, "sqlext_given"),
    { case Seq(key, number) => all.get(key.eval().toString).expressions(number.eval().asInstanceOf[Int]) })

  /** `sqlext_given_rows('key')`: the source. */
  val rows: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan) = (
    FunctionIdentifier("sqlext_given_rows"),
    new ExpressionInfo(classOf[LogicalPlan].getName, "sqlext_given_rows"),
    { case Seq(key) => all.get(key.eval().toString).source.get })
}

/** Lets Spark resolve the names of a MERGE: it leaves alone one into a table that takes any columns, as those that are
  * written to do, so that an append may bring new ones. Here a MERGE brings such by WITH SCHEMA EVOLUTION, where a star
  * is an action without assignments. */
object ResolveMergeColumns extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperators {
    case m: MergeIntoTable if takesAnyColumns(m.targetTable) && !(m.withSchemaEvolution && actions(m).exists(isEmpty)) =>
      val target = m.targetTable.transform { case r: DataSourceV2Relation => r.copy(table = ofOwnColumns(r.table)) }
      if (!m.withSchemaEvolution) m.copy(targetTable = target)
      else m.copy(targetTable = target, matchedActions = m.matchedActions.map(ofStar),
        notMatchedActions = m.notMatchedActions.map(ofStar))
  }

  private def takesAnyColumns(target: LogicalPlan): Boolean = EliminateSubqueryAliases(target) match {
    case DataSourceV2Table(table) => table.takesAnyColumns
    case _ => false
  }

  private def ofOwnColumns(table: Table): Table = table match {
    case ours: SqlextTable => new SqlextTable(ours.description, ours.role)
    case other => other
  }

  private def actions(m: MergeIntoTable): Seq[MergeAction] = m.matchedActions ++ m.notMatchedActions ++ m.notMatchedBySourceActions

  private def isEmpty(action: MergeAction): Boolean = action match {
    case update: UpdateAction => update.assignments.isEmpty
    case insert: InsertAction => insert.assignments.isEmpty
    case _ => false
  }

  private def ofStar(action: MergeAction): MergeAction = action match {
    case UpdateStarAction(condition) => UpdateAction(condition, Nil)
    case InsertStarAction(condition) => InsertAction(condition, Nil)
    case other => other
  }
}

/** Hands every resolved row-level command on a sqlext table to Python. */
object RowChangesToPython extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperators {
    case m: MergeIntoTable if m.resolved => target("MERGE", m.targetTable).map(merge(m, _)).getOrElse(m)
    case u: UpdateTable if u.resolved => target("UPDATE", u.table).map(update(u, _)).getOrElse(u)
    case d: DeleteFromTable if d.resolved => target("DELETE", d.table).map(delete(d, _)).getOrElse(d)
  }

  private def target(statement: String, plan: LogicalPlan): Option[(SqlextTable, Seq[Attribute])] =
    EliminateSubqueryAliases(plan) match {
      case DataSourceV2Table(table) => Some(table -> plan.output)
      case view: View if view.isTempView && view.exists { case DataSourceV2Table(_) => true; case _ => false } =>
        Bridge.ask("refuse temporary view", Map("statement" -> statement, "name" -> view.desc.identifier.table))
        None
      case _ => None
    }

  private def merge(m: MergeIntoTable, on: (SqlextTable, Seq[Attribute])): LogicalPlan = {
    val names = distinctNames(m.sourceTable.output)
    val source = Project(m.sourceTable.output.zip(names).map { case (column, name) => Alias(column, name)() }, m.sourceTable)
    val texts = new Texts(on._2.map(a => a -> Seq("__target", a.name)) ++
      m.sourceTable.output.zip(names).map { case (a, name) => a -> Seq("__source", name) })
    val condition = texts.of(m.mergeCondition)
    val clauses = Seq("matched" -> m.matchedActions, "not matched" -> m.notMatchedActions,
      "not matched by source" -> m.notMatchedBySourceActions)
      .flatMap { case (kind, actions) => actions.map(clause(kind, _, texts)) }
    PythonRowChange(s"MERGE INTO ${on._1.name}", key => Map("verb" -> "merge", "table" -> on._1.handle, "source" -> s"sqlext_given_rows('$key')",
      "evolving" -> m.withSchemaEvolution, "condition" -> condition(key), "clauses" -> clauses.map(_(key))), Given(Some(source), texts.expressions))
  }

  private def clause(kind: String, action: MergeAction, texts: Texts): String => Map[String, Any] = {
    val condition = action.condition.map(texts.of)
    val (verb, assigned) = action match {
      case update: UpdateAction => "update" -> update.assignments.map(assignment(_, texts))
      case insert: InsertAction => "insert" -> insert.assignments.map(assignment(_, texts))
      case _ => "delete" -> Nil
    }
    key => Map("kind" -> kind, "action" -> verb, "condition" -> condition.map(_(key)).orNull,
      "assignments" -> assigned.map { case (path, text) => Seq(path, text(key)) })
  }

  private def update(u: UpdateTable, on: (SqlextTable, Seq[Attribute])): LogicalPlan = {
    val texts = new Texts(on._2.map(a => a -> Seq("__target", a.name)))
    val condition = u.condition.map(texts.of)
    val assigned = u.assignments.map(assignment(_, texts))
    PythonRowChange(s"UPDATE ${on._1.name}", key => Map("verb" -> "update", "table" -> on._1.handle, "condition" -> condition.map(_(key)).orNull,
      "assignments" -> assigned.map { case (path, text) => Seq(path, text(key)) }), Given(None, texts.expressions))
  }

  private def delete(d: DeleteFromTable, on: (SqlextTable, Seq[Attribute])): LogicalPlan = {
    val texts = new Texts(on._2.map(a => a -> Seq("__target", a.name)))
    val condition = Some(d.condition).filterNot(_ == Literal.TrueLiteral).map(texts.of)
    PythonRowChange(s"DELETE FROM ${on._1.name}", key => Map("verb" -> "delete", "table" -> on._1.handle, "condition" -> condition.map(_(key)).orNull),
      Given(None, texts.expressions))
  }

  private def assignment(assignment: Assignment, texts: Texts): (Seq[String], String => String) =
    path(assignment.key) -> texts.of(unassigned(assignment.value))

  /** The value before Spark put it into the column, which Python asks for again. */
  private def unassigned(value: Expression): Expression = value match {
    case cast: Cast if cast.getTagValue(Cast.BY_TABLE_INSERTION).isDefined => unassigned(cast.child)
    case objects.AssertNotNull(child, _) => unassigned(child)
    case other => other
  }

  /** The name of an assigned column or field by parts; Python refuses a field of what is no struct. */
  private def path(key: Expression): Seq[String] = key match {
    case a: Attribute => Seq(a.name)
    case GetStructField(child, ordinal, _) => path(child) :+ child.dataType.asInstanceOf[StructType](ordinal).name
    case other => other.children.headOption.map(path).getOrElse(Nil) :+ other.prettyName
  }

  /** The columns' names, numbered where two are alike in whatever case. */
  private def distinctNames(columns: Seq[Attribute]): Seq[String] = {
    val taken = mutable.Set.empty[String]
    columns.map { column =>
      Iterator(column.name).concat(Iterator.from(2).map(n => s"${column.name}_$n"))
        .find(name => taken.add(name.toLowerCase(java.util.Locale.ROOT))).get
    }
  }
}

/** Expressions as texts over the columns that `names` gives names to. Columns and their equality are written out, so
  * that Python knows an upsert on the key by its condition; anything else is kept in `expressions`. */
private class Texts(names: Seq[(Attribute, Seq[String])]) {
  private val parts = AttributeMap(names)
  private val kept = mutable.ArrayBuffer.empty[Expression]

  def expressions: Seq[Expression] = kept.toSeq

  /** A text, once the key of what is kept is known. */
  def of(expression: Expression): String => String = expression match {
    case Column(text) => _ => text
    case EqualTo(Column(left), Column(right)) => _ => s"$left = $right"
    case And(left, right) =>
      val (first, second) = (of(left), of(right))
      key => s"(${first(key)}) AND (${second(key)})"
    case other =>
      kept += unresolved(other)
      val number = kept.length - 1
      key => s"sqlext_given('$key', $number)"
  }

  private object Column {
    def unapply(expression: Expression): Option[String] = expression match {
      case a: Attribute => parts.get(a).map(_.map(part => "`" + part.replace("`", "``") + "`").mkString("."))
      case Cast(child, to, _, _) if integral.indexOf(child.dataType) >= 0 && integral.indexOf(to) >= integral.indexOf(child.dataType) =>
        unapply(child) // whole numbers compare alike in any width
      case _ => None
    }
  }

  private val integral = Seq(ByteType, ShortType, IntegerType, LongType)

  /** With names in place of columns, in subqueries too, where they are names of the query around them. */
  private def unresolved(expression: Expression): Expression = expression.transformUp {
    case a: Attribute if parts.contains(a) => UnresolvedAttribute(parts(a))
    case s: SubqueryExpression => s.withNewOuterAttrs(Nil).withNewPlan(s.plan.transformAllExpressions {
      case OuterReference(a: Attribute) if parts.contains(a) => UnresolvedAttribute(parts(a))
    })
  }
}
