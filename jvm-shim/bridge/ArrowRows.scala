/* Rows that Python sends as record batches of Arrow, in Base64. It is in Spark's package for Spark's reader of these. */
package org.apache.spark.sql.sqlext

import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.arrow.ArrowConverters
import org.apache.spark.sql.types.StructType

import scala.jdk.CollectionConverters._

object ArrowRows {
  /** The rows, each of which is good until the next; times are in UTC. */
  def of(schema: StructType, batches: JsonNode): Iterator[InternalRow] = {
    val decoded = batches.elements.asScala.map(batch => Base64.getDecoder.decode(batch.asText))
    ArrowConverters.fromBatchIterator(decoded, schema, "UTC", true, false, null)
  }

  /** The rows as a part of a plan. */
  def relation(schema: StructType, batches: JsonNode): LocalRelation = {
    val copied = UnsafeProjection.create(schema)
    val rows = of(schema, batches).map(copied(_).copy())
    LocalRelation(DataTypeUtils.toAttributes(schema), rows.toArray.toSeq)
  }
}
