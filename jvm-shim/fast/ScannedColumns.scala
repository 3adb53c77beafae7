/* Columns of a scan, and what a plan above it computes of them, batch by batch: only computed columns go through rows.
 *
 * A condition is left to Spark: to test it batch by batch saves 5 % where half of the rows stay, and costs 10 % where a
 * tenth does.
 *
 * Without computed columns an INSERT of lineitem that computes two of sixteen takes 19 % more CPU. */
package io.sqlext

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{ColumnarToRowExec, InputAdapter, ProjectExec, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.ColumnarBatch

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

/** A plan that gives columns, and what a plan above makes of them: expressions over its output. */
private case class ScannedColumns(source: SparkPlan, columns: Seq[Expression]) {
  /** Whether they are columns of the source as they are. */
  def areStored: Boolean = columns.forall(_.isInstanceOf[BoundReference])

  /** Batches of columns of the source. */
  def execute(): RDD[ColumnarBatch] = {
    val places = columns.collect { case BoundReference(place, _, _) => place }.toArray
    source.executeColumnar().mapPartitions { batches =>
      batches.filter(_.numRows > 0).map(batch => new ColumnarBatch(places.map(batch.column), batch.numRows))
    }
  }

  def packed(types: Array[DataType]): RDD[Array[Byte]] = {
    val columns = this.columns
    source.executeColumnar().mapPartitions { batches =>
      val packing = new ComputedColumns(columns, types)
      batches.filter(_.numRows > 0).flatMap(packing.of)
    }
  }
}

private object ScannedColumns {
  /** None for another plan, or one that computes all columns, or a column of a type that has no packed form. */
  def below(plan: SparkPlan): Option[ScannedColumns] = below(plan, plan.output).filter { found =>
    val (stored, computed) = found.columns.partition(_.isInstanceOf[BoundReference])
    stored.nonEmpty && computed.forall(one => Packing.hasOwnForm(one.dataType) && isPure(one))
  }

  private def below(plan: SparkPlan, wanted: Seq[Expression]): Option[ScannedColumns] = projected(plan, wanted) match {
    case Some((ColumnarToRowExec(source), expressions)) if expressions.forall(_.references.subsetOf(source.outputSet)) =>
      Some(ScannedColumns(source, BindReferences.bindReferences(expressions, source.output)))
    case _ => None
  }

  /** A plan of which another one gives columns, renamed or moved or left out, and these columns of it. */
  def storedBelow(plan: SparkPlan): Option[(SparkPlan, Seq[Attribute])] = projected(plan, plan.output).flatMap {
    case (below, expressions) =>
      val columns = expressions.collect { case column: Attribute => column }
      Option.when(columns.length == expressions.length)(withoutForm(below) -> columns)
  }

  private def withoutForm(plan: SparkPlan): SparkPlan = plan match {
    case WholeStageCodegenExec(inner) => withoutForm(inner)
    case InputAdapter(inner) => withoutForm(inner)
    case ColumnarToRowExec(inner) => withoutForm(inner)
    case other => other
  }

  /** What is below projections, and the expressions over it that they make. */
  @tailrec private def projected(plan: SparkPlan, wanted: Seq[Expression]): Option[(SparkPlan, Seq[Expression])] = plan match {
    case WholeStageCodegenExec(inner) => projected(inner, wanted)
    case InputAdapter(inner) => projected(inner, wanted)
    case ProjectExec(columns, inner) =>
      val sources = wanted.map {
        case one: Attribute => columns.find(_.exprId == one.exprId).map(source)
        case _ => None
      }
      if (sources.forall(_.isDefined)) projected(inner, sources.flatten) else None
    case other => Some(other -> wanted)
  }

  private def source(column: NamedExpression): Expression = column match {
    case Alias(child, _) => child
    case own => own
  }

  /** Its value depends on the row alone, and a task can compute it. */
  private def isPure(expression: Expression): Boolean = expression.deterministic && !expression.exists {
    case _: PlanExpression[_] | _: UserDefinedExpression | _: Unevaluable => true
    case _ => false
  }
}

/** Packs the batches of a task. */
private class ComputedColumns(columns: Seq[Expression], types: Array[DataType]) {
  private val (stored, computed) = types.indices.partition(columns(_).isInstanceOf[BoundReference])
  private val places = stored.map(columns).collect { case BoundReference(place, _, _) => place }.toArray
  private val (packing, packingRows) = (new Packing(stored.map(types).toArray), new Packing(types))
  private lazy val allValues = UnsafeProjection.create(columns)
  private lazy val computedValues = UnsafeProjection.create(computed.map(columns))

  def of(batch: ColumnarBatch): Iterator[Array[Byte]] = inOne(batch) match {
    case Some(value) => Iterator.single(value)
    case None => packingRows.of(batch.rowIterator.asScala.map(allValues))
  }

  /** None for more than is packed together. */
  private def inOne(batch: ColumnarBatch): Option[Array[Byte]] = {
    lazy val made = new CollectedRows(batch.rowIterator.asScala.map(computedValues), computed.map(types).toArray)
    if (computed.nonEmpty && (batch.numRows > CollectedRows.most || !made.next() || made.count < batch.numRows)) None
    else packing.buffers(new ColumnarBatch(places.map(batch.column), batch.numRows)).map { found =>
      val buffers = (stored.zip(found) ++ computed.zipWithIndex.map { case (at, number) => at -> made.buffers(number) }).toMap
      Packing.packed(batch.numRows, types.indices.flatMap(buffers))
    }
  }
}
