/* The rows that a change joins with its table, if they turn out to be few: Spark sends them to all tasks, where it would
 * shuffle and sort the whole table, since before it runs it cannot tell how many rows a condition leaves.
 *
 * Without it the join of a MERGE of 600,000 rows, which a condition selects of 6 million, takes 3 times the CPU. */
package io.sqlext

import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeMap, PlanExpression, UnsafeRow, UserDefinedExpression}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.unsafe.Platform

object FewJoinedRows {
  /** By so many times Spark may expect too many bytes of the rows that a condition leaves. */
  private val overestimated = 32

  /** The query, with the rows of the source in place of it if they have at most `most` bytes. For this the source runs,
    * and in vain, until it has more, otherwise. */
  def of(frame: DataFrame, most: Long): DataFrame = {
    val query = frame.asInstanceOf[classic.DataFrame]
    val (session, plan) = (query.sparkSession, query.queryExecution.optimizedPlan)
    tried(plan, most).flatMap { join =>
      rows(SparkInternals.ofRows(session, join.source), most).map { found =>
        val sent = join.withRows(LocalRelation(join.source.output, found))
        SparkInternals.ofRows(session, plan.transformDown { case one if one eq join.whole => sent })
      }
    }.getOrElse(query)
  }

  /** Whether the source of the query's join is tried. */
  def isTried(frame: DataFrame, most: Long): Boolean =
    tried(frame.asInstanceOf[classic.DataFrame].queryExecution.optimizedPlan, most).isDefined

  /** The one join of a plan that keeps the places of a table's rows, if Spark would shuffle both of its sides. */
  private def tried(plan: LogicalPlan, most: Long): Option[PlacedJoin] = {
    val conf = SQLConf.get
    plan.collect { case join: Join => PlacedJoin.of(join) } match {
      case Seq(Some(join)) if conf.autoBroadcastJoinThreshold >= 0 =>
        val (source, target) = (join.source.stats.sizeInBytes, join.target.stats.sizeInBytes)
        val shuffled = source > conf.autoBroadcastJoinThreshold && target > conf.autoBroadcastJoinThreshold
        val mostExpected = if (join.source.exists(_.isInstanceOf[Filter])) BigInt(most) * overestimated else BigInt(most)
        // A source that has its rows one by one stops early.
        val costsLittle = DriverRows.passesRows(join.source) && source <= mostExpected
        Option.when(shuffled && target >= most && costsLittle && isPlain(plan))(join)
      case _ => None
    }
  }

  /** What is planned again has the same meaning, and no function of the user tells how often it is called. */
  private def isPlain(plan: LogicalPlan): Boolean = plan.deterministic && !plan.isStreaming && !plan.exists { node =>
    node.nodeName.contains("Python") || node.expressions.exists(_.exists {
      case _: PlanExpression[_] | _: UserDefinedExpression => true
      case _ => false
    })
  }

  /** None where they have more than `most` bytes, or are in one task more than half of these. */
  private def rows(source: classic.DataFrame, most: Long): Option[Seq[InternalRow]] = {
    val schema = source.schema
    DriverRows.laidOut(source, most) { (rows, each) =>
      val (sized, packed) = (new SizedRows(rows, schema), new PackedRowBytes)
      while (sized.bytes <= each && sized.hasNext) sized.next() match { case row: UnsafeRow => packed.add(row) }
      Taken(sized.rows, sized.bytes, if (sized.bytes > each) Array.emptyByteArray else packed.result)
    }.map(PackedRowBytes.rows(_, schema.length))
  }
}

/** Rows one behind the other, each after its size in 8 bytes. */
private class PackedRowBytes {
  private var bytes = new Array[Byte](1 << 16)
  private var end = 0

  def add(row: UnsafeRow): Unit = {
    val next = Math.addExact(end, 8 + row.getSizeInBytes)
    if (next > bytes.length) bytes = java.util.Arrays.copyOf(bytes, math.max(next.toLong, math.min(2L * bytes.length, Int.MaxValue - 64)).toInt)
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + end, row.getSizeInBytes)
    row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + end + 8)
    end = next
  }

  def result: Array[Byte] = java.util.Arrays.copyOf(bytes, end)
}

private object PackedRowBytes {
  /** The rows, which refer to the bytes. */
  def rows(bytes: Array[Byte], fields: Int): Seq[InternalRow] = {
    val found = Seq.newBuilder[InternalRow]
    var at = 0
    while (at < bytes.length) {
      val size = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at).toInt
      val row = new UnsafeRow(fields)
      row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + at + 8, size)
      found += row
      at += 8 + size
    }
    found.result()
  }
}

/** A join of rows whose places in their files are asked for with those of a source. */
private case class PlacedJoin(whole: Join, sourceIsLeft: Boolean) {
  val (source, target) = if (sourceIsLeft) (whole.left, whole.right) else (whole.right, whole.left)

  /** Spark sends the rows of a side that the join need not keep. Where it keeps those of the source, the target is reduced
    * to the rows that they match first. */
  def withRows(rows: LocalRelation): Join = {
    val sent = Some(HintInfo(strategy = Some(BROADCAST)))
    val kept = if (sourceIsLeft) LeftOuter else RightOuter
    if (whole.joinType == kept) {
      val copy = rows.newInstance()
      val columns = AttributeMap(rows.output.zip(copy.output))
      val condition = whole.condition.map(_.transform { case column: Attribute => columns.getOrElse(column, column) })
      val matched = Join(target, copy, LeftSemi, condition, JoinHint(None, sent))
      if (sourceIsLeft) whole.copy(left = rows, right = matched) else whole.copy(left = matched, right = rows)
    } else if (sourceIsLeft) whole.copy(left = rows, hint = JoinHint(sent, None))
    else whole.copy(right = rows, hint = JoinHint(None, sent))
  }
}

private object PlacedJoin {
  def of(join: Join): Option[PlacedJoin] = Seq(join.left, join.right).map(hasPlaces) match {
    case Seq(left, right) if left != right && isSent(join, sourceIsLeft = right) =>
      Option.when(ExtractEquiJoinKeys.unapply(join).isDefined && join.hint == JoinHint.NONE)(PlacedJoin(join, right))
    case _ => None
  }

  private def hasPlaces(side: LogicalPlan): Boolean = side.collectLeaves().exists {
    case relation: DataSourceV2ScanRelation => relation.output.exists(_.name == MetadataColumns.position.name)
    case _ => false
  }

  /** A full join sends neither side; a semi or anti join only its right one. */
  private def isSent(join: Join, sourceIsLeft: Boolean): Boolean = join.joinType match {
    case Inner | LeftOuter | RightOuter => true
    case LeftSemi | LeftAnti => !sourceIsLeft
    case _ => false
  }
}
