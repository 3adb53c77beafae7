/* Which version of a table a query reads: a rule that Spark runs on the analysed plan (its plan normalization) before
 * it looks for cached data, and the moments by which the rule knows what is new. */
package io.sqlext

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.types.StructField

import scala.collection.mutable

/** A moment in the life of this JVM. `commands` counts what has been run by then: each may have changed any table, as
  * sessions see it. `branch` is the session's `spark.wap.branch`. */
private[sqlext] case class Moment(number: Long, commands: Long, nanos: Long, branch: Option[String])

private[sqlext] object Moment {
  private val numbers = new AtomicLong
  private val commands = new AtomicLong

  def now: Moment = Moment(numbers.incrementAndGet, commands.get, System.nanoTime, Catalog.wapBranch)

  def commandEnded(): Unit = commands.incrementAndGet()
}

/** Gives every query the newest version of each table that it names, as its session sees the table when the query runs,
  * and one version of the table at all places of the query.
  *
  * A query may hold an older one: a DataFrame was analysed before it runs, and Spark resolves the name of a table that
  * CACHE TABLE has cached to the version that was cached. Spark looks for cached data behind this rule, and tables are
  * equal where their versions are, so that no cached rows of another version are ever an answer. A place of the history
  * that does not move, as a snapshot, stays.
  *
  * In a command of ours a table is brought up to the time when the command began, and stays at the version that its
  * first query of the table has. */
object NewestVersions extends Rule[LogicalPlan] {
  /** Two questions about one table are one to a query that is analysed and run at once. Commits by other processes
    * within this time are after it. */
  private val atOnce = 100L * 1000 * 1000

  private class Running(val began: Long) {
    val known = mutable.Map.empty[Seq[String], SqlextTable]
  }
  private val running = new ThreadLocal[Running]

  /** Runs a command of ours, all of whose queries, of this thread, have one version of each table. */
  def inCommand[T](run: => T): T = {
    val outer = running.get
    running.set(new Running(Moment.now.number))
    try run
    finally {
      running.set(outer)
      Moment.commandEnded()
    }
  }

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val found = plan.collectWithSubqueries { case Named(name, _, table) => name -> table }
    if (found.isEmpty) plan
    else {
      val versions = found.groupMap(_._1)(_._2).map { case (name, tables) => name -> version(name, tables) }
      plan.transformWithSubqueries {
        case Named(name, relation, table) if !(versions(name) eq table) => moved(relation, table, versions(name))
      }
    }
  }

  private def version(name: Seq[String], tables: Seq[SqlextTable]): SqlextTable = {
    val latest = tables.maxBy(_.seen.number)
    Option(running.get) match {
      case None =>
        if (isNew(latest) && tables.forall(_.handle == latest.handle)) latest else newest(name, latest)
      case Some(command) =>
        val known = command.known.get(name).toSeq :+ latest
        val chosen = known.filter(_.seen.number > command.began).maxByOption(_.seen.number).getOrElse(newest(name, latest))
        command.known.update(name, chosen)
        chosen
    }
  }

  private def isNew(table: SqlextTable): Boolean = {
    val now = Moment.now
    table.seen.commands == now.commands && table.seen.branch == now.branch && now.nanos - table.seen.nanos < atOnce
  }

  private def newest(name: Seq[String], table: SqlextTable): SqlextTable = {
    val moment = Moment.now
    try {
      val answer = Bridge.ask("newest version", Map("catalog" -> name.head,
        "namespace" -> name.slice(1, name.length - 1), "name" -> name.last,
        "table" -> table.handle, "session" -> SparkInternals.sessionId) ++ Catalog.atWapBranch)
      Option(answer.get("table")) match {
        case None =>
          table.seen = moment
          table
        case Some(described) =>
          val moved = new SqlextTable(described, Rows, named = table.named)
          moved.seen = moment
          if (!answer.get("in_transaction").asBoolean) SparkInternals.renewCaches(SparkInternals.activeSession, name)
          moved
      }
    } catch {
      case gone: SqlextException => new SqlextTable(table.description, Rows, named = table.named, refusal = Some(gone))
    }
  }

  /** The relation at another version, which has to have its columns still: fields of the same ids and types. */
  private def moved(relation: DataSourceV2Relation, from: SqlextTable, to: SqlextTable): DataSourceV2Relation =
    if (to.refusal.isDefined || from.handle == to.handle) relation.copy(table = to)
    else {
      val (before, after) = (columns(from), columns(to))
      val lost = relation.output.filterNot { column =>
        val now = after.get(column.name)
        now.exists(field => before.get(column.name).exists(isSame(_, field)) && (column.nullable || !field.nullable))
      }
      if (lost.isEmpty) relation.copy(table = to)
      else relation.copy(table = new SqlextTable(to.description, Rows, named = to.named,
        refusal = Some(Bridge.refusal("refuse changed columns", Map("name" -> to.name, "columns" -> lost.map(_.name))))))
    }

  private def columns(table: SqlextTable): Map[String, StructField] =
    (table.metadataColumns.map(c => StructField(c.name, c.dataType, c.isNullable)) ++ table.schemaWithIds)
      .map(field => field.name -> field).toMap

  private def isSame(before: StructField, after: StructField): Boolean =
    before.dataType == after.dataType && FieldIds.id(before) == FieldIds.id(after)

  private object Named {
    def unapply(plan: LogicalPlan): Option[(Seq[String], DataSourceV2Relation, SqlextTable)] = plan match {
      case relation: DataSourceV2Relation => relation.table match {
        case table: SqlextTable if table.role == Rows && !table.takesAnyColumns && !table.isPinned =>
          table.named.orElse(named(relation)).map((_, relation, table))
        case _ => None
      }
      case _ => None
    }
  }

  private def named(relation: DataSourceV2Relation): Option[Seq[String]] =
    for (catalog <- relation.catalog; name <- relation.identifier)
      yield (catalog.name +: name.namespace.toSeq) :+ name.name
}
