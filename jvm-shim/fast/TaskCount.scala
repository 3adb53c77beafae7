/* `sqlext_task_count()`: the number of tasks of the stage in which it is evaluated, which Spark does not tell to Python.
 * Each task that writes rows gives every n-th value of an identity column. */
package io.sqlext

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo, LeafExpression, Nondeterministic}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types.{DataType, IntegerType}

/* Not deterministic, so that it stays in the stage of the projection that has it. -1 outside of tasks: the optimizer
 * evaluates projections of literal rows. */
case class TaskCount() extends LeafExpression with Nondeterministic with CodegenFallback {
  override def nullable: Boolean = false
  override def dataType: DataType = IntegerType
  override protected def initializeInternal(partition: Int): Unit = ()
  override protected def evalInternal(row: InternalRow): Any = Option(TaskContext.get()).fold(-1)(_.numPartitions())
}

object TaskCount {
  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_task_count"),
    new ExpressionInfo(classOf[TaskCount].getName, "sqlext_task_count"),
    { case Seq() => TaskCount() })
}
