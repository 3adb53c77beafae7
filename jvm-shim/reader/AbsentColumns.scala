/* Columns that a file lacks since its partition tells their value, as in folders named `column=value`: put into the
 * rows or batches that Spark's reader gives. */
package io.sqlext

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.execution.vectorized.{ColumnVectorUtils, ConstantColumnVector}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

object AbsentColumns {
  /** The key, among a file's constants, of the values by the place of their column. */
  val key = "sqlext_absent"

  /** Rows or batches of `columns` with the values in place of what was read there. */
  def filled(read: Iterator[Any], columns: StructType, values: Map[Int, Any]): Iterator[InternalRow] =
    OpenRows.mapped(read) {
      case batch: ColumnarBatch => new ColumnarBatch(Array.tabulate(batch.numCols)(i =>
        values.get(i).fold(batch.column(i))(constant(_, columns, i, batch.numRows))), batch.numRows)
      case row: InternalRow => new GenericInternalRow(Array.tabulate[Any](columns.length)(i =>
        values.getOrElse(i, if (row.isNullAt(i)) null else row.get(i, columns(i).dataType))))
    }

  private def constant(value: Any, columns: StructType, i: Int, rows: Int): ColumnVector = {
    val vector = new ConstantColumnVector(rows, columns(i).dataType)
    ColumnVectorUtils.populate(vector, InternalRow(value), 0)
    vector
  }
}
