/* Spark 4.1 and later: its Parquet reader knows a struct from null by whatever fields a file has. */
package io.sqlext

import org.apache.spark.sql.types.StructType

object NestedColumns {
  /** The columns that a scan reads where Spark asks for `required`. */
  def read(table: SqlextTable, required: StructType): StructType = required
}
