/* What only Spark's package `execution` may name: its reader of Avro files, and its converter of rows to batches, for
 * files that are read row by row in a scan of batches (a scan gives either for all of its files). */
package org.apache.spark.sql.execution

import org.apache.spark.sql.avro.AvroFileFormat
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.vectorized.{ColumnVectorUtils, ConstantColumnVector, OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/** Spark's reader of Avro files, which only its own packages may name. */
object SqlextFileFormats {
  def avro: FileFormat = new AvroFileFormat
}

/** Rows as batches, by Spark's converter, which only its own package may use. A scan gives either rows or batches for
  * all of its files, and Spark's readers of ORC and Avro files give no batches with positions. */
object SqlextRowBatches {
  private val rowsPerBatch = 4096

  /** Batches of the rows' columns, followed by constants. Each is valid until the next is asked for. */
  def apply(rows: Iterator[InternalRow], columns: StructType, constants: StructType, values: InternalRow): Iterator[ColumnarBatch] = {
    val vectors: Array[WritableColumnVector] =
      OnHeapColumnVector.allocateColumns(rowsPerBatch, columns).asInstanceOf[Array[WritableColumnVector]]
    val fixed = constants.fields.zipWithIndex.map { case (field, i) =>
      val vector = new ConstantColumnVector(rowsPerBatch, field.dataType)
      ColumnVectorUtils.populate(vector, values, i)
      vector
    }
    val converter = new RowToColumnConverter(columns)
    val batch = new ColumnarBatch((vectors ++ fixed).asInstanceOf[Array[ColumnVector]])
    new Iterator[ColumnarBatch] {
      override def hasNext: Boolean = rows.hasNext
      override def next(): ColumnarBatch = {
        vectors.foreach(_.reset())
        var count = 0
        while (count < rowsPerBatch && rows.hasNext) {
          converter.convert(rows.next(), vectors)
          count += 1
        }
        batch.setNumRows(count)
        batch
      }
    }
  }
}
