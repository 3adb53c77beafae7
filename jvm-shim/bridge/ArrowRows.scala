/* Rows that Python sends as record batches of Arrow. It is in Spark's package for Spark's reader of these. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.arrow.ArrowConverters
import org.apache.spark.sql.types.StructType

object ArrowRows {
  /** The rows, each of which is good until the next; times are in UTC. */
  def of(schema: StructType, batches: Iterator[Array[Byte]]): Iterator[InternalRow] =
    ArrowConverters.fromBatchIterator(batches, schema, "UTC", true, false, null)

  /** The rows as a part of a plan. */
  def relation(schema: StructType, batches: Iterator[Array[Byte]]): LocalRelation = {
    val copied = UnsafeProjection.create(schema)
    val rows = of(schema, batches).map(copied(_).copy())
    LocalRelation(DataTypeUtils.toAttributes(schema), rows.toArray.toSeq)
  }
}
