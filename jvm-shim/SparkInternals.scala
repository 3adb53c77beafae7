package org.apache.spark.sql.sqlext

import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, Column}
import org.apache.spark.sql.types.{DataType, StructType}

/** What Spark keeps to its own packages and the shim cannot do without. */
object SparkInternals {
  def ofRows(session: classic.SparkSession, plan: LogicalPlan): classic.DataFrame = classic.Dataset.ofRows(session, plan)

  def struct(columns: Array[Column]): StructType = CatalogV2Util.v2ColumnsToStructType(columns)

  def asNullable(dataType: DataType): DataType = dataType.asNullable
}
