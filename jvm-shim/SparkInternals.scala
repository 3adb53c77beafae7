package org.apache.spark.sql.sqlext

import java.io.FileNotFoundException

import org.apache.spark.{SparkException, SparkRuntimeException}
import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, Column}
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.datasources.v2.FileDataSourceV2
import org.apache.spark.sql.types.{DataType, StructType}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/** What Spark keeps to its own packages and the shim cannot do without. */
object SparkInternals {
  def ofRows(session: classic.SparkSession, plan: LogicalPlan): classic.DataFrame = classic.Dataset.ofRows(session, plan)

  def struct(columns: Array[Column]): StructType = CatalogV2Util.v2ColumnsToStructType(columns)

  def asNullable(dataType: DataType): DataType = dataType.asNullable

  /** The error of Spark's own file sources, with its condition and the file's path, and of a class that Spark's
    * Python API shows without the stack. */
  def readFailure(path: String, failure: Throwable): Throwable = {
    val named = failure match {
      case missing: FileNotFoundException => QueryExecutionErrors.fileNotExistError(path, missing)
      case other => try FileDataSourceV2.attachFilePath(path, other) catch { case NonFatal(attached) => attached }
    }
    named match {
      case error: SparkException if error.getCondition != null =>
        new SparkRuntimeException(error.getCondition, error.getMessageParameters.asScala.toMap, error)
      case error => error
    }
  }
}
