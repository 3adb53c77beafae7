/* Plans whose rows the driver has or finds by itself, evaluated there without a job: rows that stand in the plan, rows of
 * a look-up, what nodes above make of each, and a join of the two, as MERGE and ON CONFLICT of few rows have it.
 *
 * A job takes longer to start than such rows to be made. Without it an UPDATE of one row by its key takes a quarter more
 * time, and an INSERT … ON CONFLICT of one row twice the time. */
package io.sqlext

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.catalyst.plans.{Inner, LeftAnti, LeftOuter, LeftSemi, RightOuter}
import org.apache.spark.sql.execution.{FilterExec, InputAdapter, LeafExecNode, LocalTableScanExec, ProjectExec, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{BaseJoinExec, BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.sqlext.RowsOnDriver

private[sqlext] object PlansOnDriver {
  /** The rows, each good until the next one is asked for; None if tasks have to make them. */
  def rows(plan: SparkPlan): Option[Iterator[InternalRow]] = plan match {
    case local: LocalTableScanExec => Some(local.executeCollect().iterator)
    case one: LeafExecNode if one.nodeName == "Scan OneRowRelation" => Some(Iterator.single(InternalRow.empty))
    case found: RowsOnDriver => found.rowsOnDriver.map(_.iterator)
    case WholeStageCodegenExec(child) => rows(child)
    case InputAdapter(child) => rows(child)
    case ProjectExec(columns, child) if columns.forall(LookUps.isPlain) =>
      rows(child).map(_.map(InterpretedUnsafeProjection.createProjection(BindReferences.bindReferences(columns, child.output))))
    case FilterExec(condition, child) if LookUps.isPlain(condition) =>
      val matches = InterpretedPredicate(BindReferences.bindReference(condition, child.output))
      rows(child).map(_.filter(matches.eval))
    case adaptive: AdaptiveSparkPlanExec => rows(LookUps.in(adaptive.initialPlan))
    case BroadcastExchangeExec(_, child) => rows(child)
    case join: BroadcastHashJoinExec if !join.isNullAwareAntiJoin => new JoinOnDriver(join, join.buildSide == BuildLeft).rows
    case join: BroadcastNestedLoopJoinExec => new JoinOnDriver(join, join.buildSide == BuildLeft).rows
    case _ => None
  }
}

/** A join whose one side is built in memory, and the other one streamed past it; an outer join keeps the streamed one. */
private class JoinOnDriver(join: BaseJoinExec, buildsLeft: Boolean) {
  private type Joined = (InternalRow, Seq[InternalRow]) => Iterator[InternalRow]

  private val (streamed, built) = if (buildsLeft) (join.right, join.left) else (join.left, join.right)
  private val (streamedKeys, builtKeys) = if (buildsLeft) (join.rightKeys, join.leftKeys) else (join.leftKeys, join.rightKeys)
  private val pair = new JoinedRow
  private val nothing = Seq(new GenericInternalRow(built.output.length))

  private def paired(row: InternalRow, other: InternalRow): InternalRow = if (buildsLeft) pair(other, row) else pair(row, other)

  /** What becomes of a streamed row and the rows that match it; None for a join that is not made here. */
  private val joined: Option[Joined] = join.joinType match {
    case Inner => Some((row, matches) => matches.iterator.map(paired(row, _)))
    case LeftOuter if !buildsLeft => Some(kept)
    case RightOuter if buildsLeft => Some(kept)
    case LeftSemi if !buildsLeft => Some((row, matches) => Iterator.single(row).filter(_ => matches.nonEmpty))
    case LeftAnti if !buildsLeft => Some((row, matches) => Iterator.single(row).filter(_ => matches.isEmpty))
    case _ => None
  }

  private def kept(row: InternalRow, matches: Seq[InternalRow]): Iterator[InternalRow] =
    (if (matches.isEmpty) nothing else matches).iterator.map(paired(row, _))

  def rows: Option[Iterator[InternalRow]] =
    for {
      make <- joined.filter(_ => (join.leftKeys ++ join.rightKeys ++ join.condition).forall(LookUps.isPlain))
      all <- PlansOnDriver.rows(streamed)
      others <- PlansOnDriver.rows(built).map(_.map(_.copy()).toSeq)
      (some, equal) <- if (builtKeys.nonEmpty) Some((all, byKey(others))) else paired(all.map(_.copy()).toSeq, others)
    } yield {
      val isMatch = join.condition.map(one => InterpretedPredicate(BindReferences.bindReference(one, join.left.output ++ join.right.output)))
      some.flatMap(row => make(row, equal(row).filter(other => isMatch.forall(_.eval(paired(row, other))))))
    }

  /** Each row with all others; None if those are too many pairs. */
  private def paired(all: Seq[InternalRow], others: Seq[InternalRow]): Option[(Iterator[InternalRow], InternalRow => Seq[InternalRow])] =
    Option.when(all.size.toLong * others.size <= JoinOnDriver.mostPairs)((all.iterator, _ => others))

  /** Of a streamed row the others with its key, of which a null is no other's. */
  private def byKey(others: Seq[InternalRow]): InternalRow => Seq[InternalRow] = {
    val (key, ofOther) = (keyOf(streamedKeys, streamed), keyOf(builtKeys, built))
    val found = others.flatMap(other => ofOther(other).map(_.copy() -> other)).groupMap(_._1)(_._2)
    key(_).flatMap(found.get).getOrElse(Nil)
  }

  /** The key of a row, good until the next row's; None if a part of it is null. */
  private def keyOf(keys: Seq[Expression], side: SparkPlan): InternalRow => Option[UnsafeRow] = {
    val projected = InterpretedUnsafeProjection.createProjection(BindReferences.bindReferences(keys, side.output))
    row => Some(projected(row)).filterNot(_.anyNull)
  }
}

private object JoinOnDriver {
  /** Of a join without keys. */
  private val mostPairs = 65536
}
