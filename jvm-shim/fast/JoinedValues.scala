/* A join of a table with few rows that the query has itself, as those of VALUES or of a small source of a MERGE (a rule
 * of Spark's optimiser): the table is read by their values. Bounds and bloom filters then leave out its other files, a
 * commit conflicts with others of these values alone, and the driver may read the rows (`LookUps`).
 *
 * Without it a MERGE of one row by its key into 200,000 takes 2 times the time. */
package io.sqlext

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, InnerLike, LeftAnti, LeftOuter, LeftSemi, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LocalRelation, LogicalPlan, OneRowRelation, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._

import scala.util.control.NonFatal

object JoinedValues extends Rule[LogicalPlan] with PredicateHelper {
  /** More values take longer to compare than the join itself. */
  private val mostRows = 1000

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformWithPruning(_.containsPattern(TreePattern.JOIN)) {
    case join: Join if !join.isStreaming && (readsTable(join.left) || readsTable(join.right)) =>
      withoutSemiJoin(join).orElse(withColumnsOfOneRow(join)).getOrElse(narrowed(join))
  }

  /** An inner join with the row of a SELECT without FROM adds its columns to each row. */
  private def withColumnsOfOneRow(join: Join): Option[LogicalPlan] = if (join.joinType != Inner) None else {
    def of(added: Option[Seq[NamedExpression]], rows: LogicalPlan)(columns: Seq[NamedExpression] => Seq[NamedExpression]) =
      added.map(some => Project(columns(some), rows)).map(joined => join.condition.fold[LogicalPlan](joined)(Filter(_, joined)))
    of(oneRow(join.right), join.left)(join.left.output ++ _).orElse(of(oneRow(join.left), join.right)(_ ++ join.right.output))
  }

  private def oneRow(plan: LogicalPlan): Option[Seq[NamedExpression]] = plan match {
    case Project(columns, _: OneRowRelation) if columns.forall(LookUps.isPlain) => Some(columns)
    case _ => None
  }

  /** A semi join says no more than that the other side has a row, or a certain value. */
  private def withoutSemiJoin(join: Join): Option[LogicalPlan] = if (join.joinType != LeftSemi) None else join.condition match {
    case None if hasRow(join.right) => Some(join.left)
    case Some(one: EqualTo) => tests(join.left, join.right, bothWays(one)).collectFirst { case (test, true) => Filter(test, join.left) }
    case _ => None
  }

  private def hasRow(plan: LogicalPlan): Boolean = plan match {
    case rows: LocalRelation => rows.data.nonEmpty
    case _: OneRowRelation => true
    case Project(_, child) => hasRow(child)
    case _ => false
  }

  /** Rows of a side that no row of the other one matches may be left out, unless the join keeps them. */
  private def narrowed(join: Join): Join = {
    val (leavesLeft, leavesRight) = join.joinType match {
      case Inner | LeftSemi => (true, true)
      case LeftOuter | LeftAnti => (false, true)
      case RightOuter => (true, false)
      case _ => (false, false)
    }
    val equal = join.condition.toSeq.flatMap(splitConjunctivePredicates).collect { case one: EqualTo => bothWays(one) }.flatten
    val left = if (leavesLeft) filtered(join.left, join.right, equal) else join.left
    val right = if (leavesRight) filtered(join.right, join.left, equal) else join.right
    if ((left eq join.left) && (right eq join.right)) join else join.copy(left = left, right = right)
  }

  private def bothWays(equal: EqualTo): Seq[(Expression, Expression)] = Seq(equal.left -> equal.right, equal.right -> equal.left)

  private def filtered(side: LogicalPlan, other: LogicalPlan, equal: Seq[(Expression, Expression)]): LogicalPlan =
    if (equal.isEmpty || !readsTable(side)) side
    else tests(side, other, equal).map(_._1).filterNot(side.constraints.contains).reduceOption(And).fold(side)(Filter(_, side))

  /** Tests that the rows of a side pass that have an equal value in the other one, and whether no other row passes. */
  private def tests(side: LogicalPlan, other: LogicalPlan, equal: Seq[(Expression, Expression)]): Seq[(Expression, Boolean)] = equal.flatMap {
    case (column: Attribute, value) if side.outputSet.contains(column) && isComparedByValue(column.dataType) &&
        column.dataType == value.dataType && value.references.nonEmpty && value.references.subsetOf(other.outputSet) =>
      values(value, other).map { case (found, areAll) => among(column, found) -> areAll }
    case _ => None
  }

  private def readsTable(side: LogicalPlan): Boolean = side.exists {
    case relation: DataSourceV2Relation => relation.table.isInstanceOf[SqlextTable]
    case _ => false
  }

  /** Whether equal values are the same object's equals, too: not -0.0 and 0.0, nor texts that a collation equates. */
  private def isComparedByValue(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType | StringType | _: DecimalType => true
    case _ => false
  }

  /** The values that an expression has in the rows of the plan, and whether no other row's are among them; None if the
    * query does not have the rows itself. */
  private def values(expression: Expression, plan: LogicalPlan): Option[(Seq[Any], Boolean)] = plan match {
    case rows: LocalRelation if rows.data.size <= mostRows && LookUps.isPlain(expression) =>
      evaluated(BindReferences.bindReference(expression, rows.output), rows.data).map(_ -> true)
    case _: OneRowRelation if LookUps.isPlain(expression) => evaluated(expression, Seq(InternalRow.empty)).map(_ -> true)
    case project: Project => values(replaceAlias(expression, getAliasMap(project)), project.child)
    case Filter(_, child) => someValues(expression, child)
    case join: Join => wholeSides(join).find(side => expression.references.subsetOf(side.outputSet)).flatMap(someValues(expression, _))
    case _ => None
  }

  private def someValues(expression: Expression, plan: LogicalPlan): Option[(Seq[Any], Boolean)] =
    values(expression, plan).map { case (found, _) => found -> false }

  /** Sides whose columns have no other values in the joined rows: no nulls for rows without a match. */
  private def wholeSides(join: Join): Seq[LogicalPlan] = join.joinType match {
    case _: InnerLike => Seq(join.left, join.right)
    case LeftOuter | LeftSemi | LeftAnti => Seq(join.left)
    case RightOuter => Seq(join.right)
    case _ => Nil
  }

  /** None where it fails: whether the query fails is for the query to find out, which may not evaluate it. */
  private def evaluated(expression: Expression, rows: Seq[InternalRow]): Option[Seq[Any]] =
    try Some(rows.map(expression.eval).filter(_ != null).distinct)
    catch { case NonFatal(_) => None }

  private def among(column: Attribute, values: Seq[Any]): Expression =
    if (values.isEmpty) Literal.FalseLiteral
    else if (values.size > conf.optimizerInSetConversionThreshold) InSet(column, values.toSet)
    else if (values.size > 1) In(column, values.map(Literal(_, column.dataType)))
    else EqualTo(column, Literal(values.head, column.dataType))
}
