/* A reader of files by one of Spark's FileFormats, whatever the session's settings say of names and calendars. */
package io.sqlext

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapred.JobConf
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

private[sqlext] object FormatReader {
  /** Days and instants are those of the calendar of today for all times (spec: Primitive Types), whatever the
    * session takes files of others for. */
  private val calendar = Map("datetimeRebaseMode" -> "CORRECTED", "int96RebaseMode" -> "CORRECTED")

  /** It gives the columns and then the constants. */
  def of(spark: SparkSession, format: FileFormat, columns: StructType, constants: StructType, filters: Seq[Filter],
      batches: Boolean, hadoop: Configuration): PartitionedFile => Iterator[InternalRow] =
    KeptReaders.reader(spark, hadoop, (format.getClass, columns, constants, filters, batches)) {
      NamesInFiles.heeded(spark, format, columns)(format.buildReaderWithPartitionValues(_, columns, constants, columns,
        filters, calendar + (FileFormat.OPTION_RETURNING_BATCH -> batches.toString), copied(hadoop, filters)))
    }

  /** A copy that Spark's reader writes its columns into. It makes a `JobConf` of any other kind, for each file, and
    * sets the filters of the file there: only where there are none may files share one, without which a scan of 200
    * small files takes 8 % more CPU. */
  private def copied(hadoop: Configuration, filters: Seq[Filter]): Configuration =
    if (filters.isEmpty) new JobConf(hadoop) else new Configuration(hadoop)
}
