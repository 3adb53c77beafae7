/* Columns of files are those of their field ids, whatever they are called there, and names that differ in case are
 * two.
 *
 * Spark's readers take that from the settings of the session, not only from what they are told of a file: the one that
 * reads Parquet row by row, where the session reads no batches, would look columns up by the names of the table, and
 * find none for a column that was renamed; and either would read one of two columns whose names differ in case alone
 * as the other's type. */
package io.sqlext

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetUtils}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.types.StructType

private[sqlext] object NamesInFiles {
  /** The reader that `make` gives, made and opened by settings that say so, where it might go by names. */
  def heeded(spark: SparkSession, format: FileFormat, columns: StructType)(
      make: SparkSession => PartitionedFile => Iterator[InternalRow]): PartitionedFile => Iterator[InternalRow] = {
    val settings = SparkInternals.settingsOf(spark)
    val byBatch = settings.parquetVectorizedReaderEnabled && ParquetUtils.isBatchReadSupportedForSchema(settings, columns)
    val byRow = format.isInstanceOf[ParquetFileFormat] && !byBatch
    if (!byRow && (settings.caseSensitiveAnalysis || !AmbiguousNames.hasAlike(columns))) make(spark)
    else {
      val own = SparkInternals.cloneOf(spark)
      val read = SQLConf.withExistingConf(changed(SparkInternals.settingsOf(own)))(make(own))
      file => SQLConf.withExistingConf(changed(JobSettings.copied(SQLConf.get)))(read(file))
    }
  }

  private def changed(settings: SQLConf): SQLConf = {
    settings.setConf(SQLConf.CASE_SENSITIVE, true)
    settings.setConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED, true)
    settings
  }
}
