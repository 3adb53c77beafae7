/* DEFAULT as a value of an INSERT that Python runs: a node that holds the defaults of the columns, and the rule of the
 * analyser that gives the word the meaning that Spark gives it in its own INSERT. */
package io.sqlext

import java.util.{List => JavaList}

import org.apache.spark.sql.{DataFrame, SparkSession, classic}
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedHaving, UnresolvedInlineTable, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, Generator, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.SparkInternals

import scala.jdk.CollectionConverters._

/** The source of an INSERT, whose columns are for others that have `defaults`: those stand for the word DEFAULT. A
  * column of the name `beside` is for none of them. */
case class RowsWithDefaults(child: LogicalPlan, defaults: Seq[Expression], beside: Option[String]) extends UnaryNode {
  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): RowsWithDefaults = copy(child = newChild)
}

object DefaultValues {

  /** The rows of a query; `defaults` has the SQL of a default for each column that its columns are for. A column of the
    * name `beside`, which may be null, is for none of them. */
  def rows(session: SparkSession, query: String, defaults: JavaList[String], beside: String): DataFrame = {
    val parser = session.asInstanceOf[classic.SparkSession].sessionState.sqlParser
    SparkInternals.ofRows(session.asInstanceOf[classic.SparkSession],
      RowsWithDefaults(parser.parsePlan(query), defaults.asScala.map(parser.parseExpression).toSeq, Option(beside)))
  }
}

/** Gives DEFAULT its meaning where Spark gives it one: as a whole value of VALUES or of the SELECT list whose
  * columns are those of the statement, unless it is the name of a column there. In UNION, in a CTE or in a subquery
  * it is a name that nobody knows. */
object ResolveDefaults extends Rule[LogicalPlan] {
  private val word = "DEFAULT"

  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperatorsUp {
    case RowsWithDefaults(child, _, _) if child.resolved => child
    case rows @ RowsWithDefaults(ctes: WithCTE, _, _) => ctes.copy(plan = rows.copy(child = ctes.plan))
    case rows: RowsWithDefaults => rows.copy(child = filled(rows.child, rows))
  }

  /** Through what has the columns of its child in their order. */
  private def filled(plan: LogicalPlan, rows: RowsWithDefaults): LogicalPlan = plan match {
    case _: SubqueryAlias | _: GlobalLimit | _: LocalLimit | _: Offset | _: Sort | _: Filter | _: UnresolvedHaving =>
      plan.mapChildren(filled(_, rows))
    case Project(Seq(UnresolvedStar(None)), OfInlineTable()) => plan.mapChildren(filled(_, rows))
    case p: Project if isSettled(p.projectList, p.child) =>
      p.copy(projectList = placed(p.projectList, p.projectList.map(nameOf), rows)(Alias(_, word)()))
    case a: Aggregate if isSettled(a.aggregateExpressions, a.child) =>
      a.copy(aggregateExpressions = placed(a.aggregateExpressions, a.aggregateExpressions.map(nameOf), rows)(Alias(_, word)()))
    case table: UnresolvedInlineTable => table.copy(rows = table.rows.map(placed(_, table.names, rows)(identity)))
    case other => other
  }

  private object OfInlineTable {
    def unapply(plan: LogicalPlan): Boolean = plan match {
      case SubqueryAlias(_, child) => unapply(child)
      case _ => plan.isInstanceOf[UnresolvedInlineTable]
    }
  }

  /** The values, with the default of its place for each that is DEFAULT. */
  private def placed[E <: Expression](values: Seq[E], names: Seq[String], rows: RowsWithDefaults)(made: Expression => E): Seq[E] = {
    val isBeside = names.map(name => rows.beside.exists(_.equalsIgnoreCase(name)))
    values.zipWithIndex.map {
      case (value, at) =>
        val place = at - isBeside.take(at).count(identity)
        value match {
          case name: UnresolvedAttribute if isDefault(name) && place < rows.defaults.length => made(rows.defaults(place))
          case other => if (mentions(other)) throw SparkInternals.defaultInExpression() else other
        }
    }
  }

  private def nameOf(value: NamedExpression): String = if (mentions(value)) word else value.name

  /** Whether each value is known to be one column, and DEFAULT is the name of none. */
  private def isSettled(values: Seq[NamedExpression], child: LogicalPlan): Boolean =
    child.resolved && child.resolve(Seq(word), SQLConf.get.resolver).isEmpty && values.exists(mentions) &&
      values.forall(value => mentions(value) || isOne(value))

  private def isOne(value: Expression): Boolean = value match {
    case _: UnresolvedAttribute => true
    case Alias(name: UnresolvedAttribute, _) => isOne(name)
    case other => other.resolved && !other.exists {
      case rows: Generator => rows.elementSchema.length != 1
      case _ => false
    }
  }

  private def mentions(value: Expression): Boolean = value.exists {
    case name: UnresolvedAttribute => isDefault(name)
    case _ => false
  }

  private def isDefault(name: UnresolvedAttribute): Boolean = name.nameParts match {
    case Seq(part) => part.equalsIgnoreCase(word)
    case _ => false
  }
}
