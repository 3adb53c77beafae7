/* A scan by equality (`WHERE key = …`) that the driver reads itself (Spark's ColumnarRule, which sees the plan of a
 * query once all else is decided). Python's plan of the scan says of how many rows.
 *
 * A job of Spark takes longer to start than a page of a data file to read. The readers are those of the tasks, and
 * Spark's own condition is evaluated on their rows. Where files turn out to have more rows than bounds say, as those of
 * keys in no order have, or there are many values, rows by the table's key are read by Python, which decodes the key
 * alone of most rows; other rows are left to tasks.
 *
 * Without it a row by its key takes twice the time, among 50,000 and among 1.5 M. */
package io.sqlext

import java.io.InterruptedIOException
import java.nio.channels.ClosedByInterruptException

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader}
import org.apache.spark.sql.execution.{ColumnarRule, FilterExec, ProjectExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.sqlext.RowsOnDriver

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

object LookUps extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan = in(plan)
  }

  /** The plan with the look-ups that it may have. */
  private[sqlext] def in(plan: SparkPlan): SparkPlan = of(plan) match {
    case Some(found) => LookUpExec(plan)(found)
    case None => plan match {
      // All rows of the files would be taken for the few that match.
      case FilterExec(_, _: BatchScanExec) => plan
      case _ => plan.mapChildren(in)
    }
  }

  private def of(plan: SparkPlan): Option[LookUp] = plan match {
    case ProjectExec(columns, FilterExec(condition, scan: BatchScanExec)) => of(scan, Some(condition), columns)
    case FilterExec(condition, scan: BatchScanExec) => of(scan, Some(condition), scan.output)
    case ProjectExec(columns, scan: BatchScanExec) => of(scan, None, columns)
    case scan: BatchScanExec => of(scan, None, scan.output)
    case _ => None
  }

  private def of(scan: BatchScanExec, condition: Option[Expression], columns: Seq[NamedExpression]): Option[LookUp] =
    scan.scan match {
      case read: SqlextScan if scan.runtimeFilters.isEmpty && scan.outputPartitioning.isInstanceOf[UnknownPartitioning] &&
          (condition ++ columns).forall(isPlain) && (read.isByKey || read.driverRows > 0) =>
        Some(new LookUp(read, scan.output, condition, columns))
      case _ => None
    }

  /** Whether the driver evaluates it as a task does, in about as little time as it takes to read the row, and nothing is
    * left in it, as the value of a lambda's variable would be: the plan has the same expression for tasks. */
  private[sqlext] def isPlain(expression: Expression): Boolean = expression.deterministic && !expression.exists {
    case _: Attribute => false
    case _: PlanExpression[_] | _: Unevaluable | _: UserDefinedExpression | _: HigherOrderFunction | _: NamedLambdaVariable => true
    case other => other.stateful
  }
}

/** `condition` and `columns` are those of the plan's nodes above the scan. */
private[sqlext] class LookUp(scan: SqlextScan, output: Seq[Attribute], condition: Option[Expression], columns: Seq[NamedExpression]) {
  /** The rows, or the first `wanted` of them. None where the files have more rows, as their readers give them, than the
    * driver reads, or more of them match than it keeps: a file unpacks to many times its size. Tasks read again what
    * fails, and tell of it: they may reach a file that the driver cannot. */
  def rows(wanted: Int = Int.MaxValue): Option[Array[InternalRow]] =
    try readFiles(new Matches(wanted)).orElse(readByKey(new Matches(wanted)))
    catch { case NonFatal(failure) if !LookUp.isInterrupted(failure) => None }

  private def readFiles(matches: Matches): Option[Array[InternalRow]] = {
    var left = scan.driverRows
    val factory = scan.readerFactory
    def isOpen: Boolean = left >= 0 && matches.areWanted

    def readAll[T](reader: PartitionReader[T])(count: T => Int)(take: T => Unit): Unit =
      try while (isOpen && reader.next()) {
        val read = reader.get()
        left -= count(read)
        if (left >= 0) take(read)
      } finally reader.close()

    def readAllOf(file: InputPartition): Unit =
      if (factory.supportColumnarReads(file)) readAll(factory.createColumnarReader(file))(_.numRows)(_.rowIterator.asScala.foreach(matches.take))
      else readAll(factory.createReader(file))(_ => 1)(matches.take)

    if (left == 0) None
    else {
      scan.wholeFiles.iterator.takeWhile(_ => isOpen).foreach(readAllOf)
      if (left >= 0) matches.rows else None
    }
  }

  def isByKey: Boolean = scan.isByKey

  private def readByKey(matches: Matches): Option[Array[InternalRow]] =
    if (isByKey) scan.rowsOfKeys.flatMap { rows => rows.foreach(matches.take); matches.rows } else None

  /** The first `wanted` rows that match, as far as the driver keeps so many. */
  private class Matches(wanted: Int) {
    private val isMatch = condition.map(one => InterpretedPredicate(BindReferences.bindReference(one, output)))
    private val projected = InterpretedUnsafeProjection.createProjection(BindReferences.bindReferences(columns, output))
    private val found = new ArrayBuffer[InternalRow]
    private var bytesLeft = LookUp.mostBytes

    private def fit: Boolean = bytesLeft >= 0 && found.size <= LookUp.mostKept
    def areWanted: Boolean = fit && found.size < wanted
    def take(row: InternalRow): Unit = if (areWanted && isMatch.forall(_.eval(row))) {
      val kept = projected(row).copy()
      bytesLeft -= kept.getSizeInBytes
      found += kept
    }
    /** None if there are more than the driver keeps. */
    def rows: Option[Array[InternalRow]] = Option.when(fit)(found.toArray)
  }
}

private object LookUp {
  /** Of rows that match. They are sent to one task, where a node above needs one. */
  private val mostKept = 4096
  private val mostBytes = 4L * 1024 * 1024

  private def isInterrupted(failure: Throwable): Boolean = Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).exists {
    case _: InterruptedException | _: InterruptedIOException | _: ClosedByInterruptException => true
    case _ => false
  }
}

/** The rows of `child`, which the driver reads where they are among few. Tasks of nodes above may get the node with
  * their code, and do not use it. */
case class LookUpExec(child: SparkPlan)(@transient private val lookUp: LookUp) extends UnaryExecNode with RowsOnDriver {
  override def output: Seq[Attribute] = child.output
  override protected def otherCopyArgs: Seq[AnyRef] = Seq(lookUp)
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = LookUpExec(newChild)(lookUp)
  override def nodeName: String = "LookUp"
  override def simpleString(maxFields: Int): String =
    s"LookUp [by the driver if it has to read few rows of data files (sqlext.plan.looked-up-rows)$otherwise, else by tasks]"
  private def otherwise: String = if (Option(lookUp).exists(_.isByKey)) ", or finds few by the table's key" else ""
  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows read by the driver"))

  @transient override lazy val rowsOnDriver: Option[Array[InternalRow]] = {
    val rows = lookUp.rows()
    rows.foreach { some =>
      longMetric("numOutputRows") += some.length
      SQLMetrics.postDriverMetricUpdates(sparkContext, sparkContext.getLocalProperty("spark.sql.execution.id"), metrics.values.toSeq)
    }
    rows
  }

  override protected def doExecute(): RDD[InternalRow] =
    rowsOnDriver.map(rows => sparkContext.parallelize(rows.toSeq, 1)).getOrElse(child.execute())
  override def executeCollect(): Array[InternalRow] = rowsOnDriver.getOrElse(child.executeCollect())
  override def executeTake(count: Int): Array[InternalRow] = lookUp.rows(count).getOrElse(child.executeTake(count))
  override def executeTail(count: Int): Array[InternalRow] = rowsOnDriver.map(_.takeRight(count)).getOrElse(child.executeTail(count))
  override def executeToIterator(): Iterator[InternalRow] = rowsOnDriver.map(_.iterator).getOrElse(child.executeToIterator())
}
