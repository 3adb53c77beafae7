/* The sink of a streaming query by Spark's older interface (Sink), which hands a micro-batch over as a DataFrame, and
 * the rule that puts it in the place of a table. The newer interface wants a writer on each executor, row by row in
 * the JVM. */
package io.sqlext

import java.util

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.connector.catalog.TableCapability
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSourceV1
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType

import scala.jdk.CollectionConverters._

/** A table as the sink of one run of a streaming query: every micro-batch is one command to Python.
  *
  * Spark's own interface for such a table wants a writer on each executor, row by row in the JVM; its older one hands
  * over the batch as a DataFrame, as a DataFrame write is handed over too. */
class StreamingSink(table: SqlextTable, outputMode: OutputMode, checkpoint: String) extends Sink with ReportsSinkMetrics {
  @volatile private var figures: Map[String, String] = Map.empty

  override def name: String = table.name
  override def schema: StructType = table.schema
  override def capabilities: util.Set[TableCapability] = util.Collections.emptySet()

  override def addBatch(batchId: Long, data: DataFrame): Unit = {
    val (query, options) = data.queryExecution.logical match {
      case write: WriteToMicroBatchDataSourceV1 => (write.queryId, write.writeOptions)
    }
    val answer = Bridge.run(data.sparkSession, "micro batch", s"batch $batchId into ${table.name}", Map(
      "table" -> table.handle,
      "query_id" -> query,
      "run_id" -> SparkInternals.runOfQuery(data),
      "batch_id" -> batchId,
      "output_mode" -> outputMode.toString.toLowerCase(util.Locale.ROOT),
      "in_order" -> SparkInternals.keepsOrder(data),
      "checkpoint" -> checkpoint,
      "trigger_ms" -> SparkInternals.triggerInterval(data, query),
      "options" -> options), SparkInternals.rowsOfBatch(data))
    figures = answer.get("metrics").properties.asScala.map(e => e.getKey -> e.getValue.asText).toMap
  }

  override def metrics: util.Map[String, String] = figures.asJava
  override def toString: String = s"sqlext ${table.name}"
}

/** Puts `StreamingSink` in the place of a table that a streaming query writes to. */
object StreamsToPython extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: WriteToStream => write.sink match {
      case table: SqlextTable => write.copy(sink = new StreamingSink(table, write.outputMode, write.resolvedCheckpointLocation))
      case _ => write
    }
    case other => other
  }
}
