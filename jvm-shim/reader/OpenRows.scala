/* Rows or batches that are made of those that one of Spark's readers gives of a file, and that whoever reads them
 * closes. Spark's type for either is an iterator of rows. */
package io.sqlext

import org.apache.spark.sql.catalyst.InternalRow

private[sqlext] abstract class OpenRows(read: Iterator[Any]) extends Iterator[Any] with AutoCloseable {
  override def hasNext: Boolean = read.hasNext
  override def close(): Unit = OpenRows.close(read)
}

private[sqlext] object OpenRows {
  def close(read: Iterator[Any]): Unit = read match {
    case open: AutoCloseable => open.close()
    case _ =>
  }

  /** Each of `read` as `change` makes it. */
  def mapped(read: Iterator[Any])(change: Any => Any): Iterator[InternalRow] =
    new OpenRows(read) { override def next(): Any = change(read.next()) }.asInstanceOf[Iterator[InternalRow]]
}
