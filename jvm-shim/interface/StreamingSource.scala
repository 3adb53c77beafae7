/* The source of a streaming query by Spark's older interface (Source), whose batches are DataFrames: Python says how
 * far a batch goes, and which query its rows are. A rule puts it in the place of a table that is streamed. */
package io.sqlext

import org.apache.spark.sql.{DataFrame, SQLContext, SparkSession}
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.connector.read.streaming.{Offset => AnyOffset, ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow}
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.execution.streaming.{Offset, Source}
import org.apache.spark.sql.sources.StreamSourceProvider
import org.apache.spark.sql.sqlext.{SparkInternals, StreamPlans}
import org.apache.spark.sql.types.{StringType, StructType}

import scala.util.control.NonFatal

/** How far a stream has got in a table, in Python's words. */
case class TableOffset(override val json: String) extends Offset

/** A table as the source of a streaming query: Python says how far a batch goes, and which query its rows are.
  *
  * @param place where Spark would keep metadata of the source, in the checkpoint: its last part is the source's number or name */
class StreamingSource(session: SparkSession, table: String, options: Map[String, String], override val schema: StructType,
    place: String) extends Source with SupportsTriggerAvailableNow {
  /** The last snapshot of a query that ends with what there was when it began. */
  private var until: Option[Long] = None
  /** All batches up to here are done. */
  @volatile private var done: Option[String] = None
  /** Known to the thread of the query alone, which also makes the source. */
  private val query = SparkInternals.queryOfThread(session)

  private def ask(question: String, more: (String, Any)*) =
    Bridge.ask(question, Map("table" -> table, "options" -> options, "columns" -> schema.json) ++ more)

  private def whoReads: Map[String, Any] = Map(
    "id" -> query,
    "name" -> SparkInternals.nameOfQuery(session, query),
    "source" -> place.substring(place.lastIndexOf('/') + 1),
    "temporary" -> StreamingSource.temporary.findFirstIn(place).isDefined)

  override def prepareForTriggerAvailableNow(): Unit =
    until = Some(ask("stream head").get("snapshot")).filterNot(_.isNull).map(_.asLong)

  override def getDefaultReadLimit: ReadLimit = ReadLimit.maxFiles(Int.MaxValue)

  override def latestOffset(start: AnyOffset, limit: ReadLimit): AnyOffset = {
    val limited = !limit.isInstanceOf[ReadAllAvailable]
    done = Option(start).map(_.json).orElse(done)
    val next = ask("stream offset", "start" -> Option(start).map(_.json), "limited" -> limited, "until" -> until,
      "query" -> whoReads).get("offset")
    if (next.isNull) null else TableOffset(next.asText)
  }

  override def getOffset: Option[Offset] = Option(latestOffset(null, ReadLimit.allAvailable)).map(_.asInstanceOf[Offset])

  /** A query that is started again asks for its last batch first, which may be done: rows that are gone end the
    * query when they are wanted, and not before. */
  override def getBatch(start: Option[Offset], end: Offset): DataFrame =
    try {
      val sql = ask("stream batch", "start" -> start.map(_.json), "end" -> end.json).get("sql").asText
      SparkInternals.streamed(session.sql(sql))
    } catch {
      case gone: SqlextException if gone.getCondition == "STREAM_POSITION_GONE" => SparkInternals.refused(session, schema, gone)
    }

  /** The query ends whatever comes of this: it may end because its application does. */
  override def stop(): Unit =
    try if (Bridge.isServed)
      Bridge.ask("stream stopped", Map("table" -> table, "options" -> options, "start" -> done, "query" -> whoReads))
    catch { case NonFatal(_) => () }

  override def toString: String = s"sqlext ${options.getOrElse(StreamingSource.name, "")}"
}

object StreamingSource {
  private[sqlext] val handle = "sqlext.table"
  private[sqlext] val name = "sqlext.name"
  /** The checkpoint that Spark makes for a query without one, and deletes when the query ends. */
  private val temporary = "/temporary-[0-9a-f]{8}-[0-9a-f-]{27}/sources/[^/]+$".r
}

/** By its name Spark makes the source. */
class StreamingSourceProvider extends StreamSourceProvider {
  override def sourceSchema(context: SQLContext, schema: Option[StructType], provider: String,
      parameters: Map[String, String]): (String, StructType) = ("sqlext", schema.get)

  override def createSource(context: SQLContext, metadataPath: String, schema: Option[StructType], provider: String,
      parameters: Map[String, String]): Source =
    new StreamingSource(context.sparkSession, parameters(StreamingSource.handle), parameters - StreamingSource.handle, schema.get,
      metadataPath)
}

/** Puts a source of Spark's older interface, whose batches are DataFrames, in the place of a table that is streamed. */
object StreamedTables extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan resolveOperators {
    case relation: StreamingRelationV2 => relation.table match {
      case table: SqlextTable => source(relation, table)
      case _ => relation
    }
  }

  private def source(relation: StreamingRelationV2, table: SqlextTable): LogicalPlan = {
    val options = SparkInternals.optionsOf(relation)
    val withKinds = Bridge.ask("stream source", Map("table" -> table.handle, "options" -> options)).get("row_kinds").asBoolean
    val kind = if (withKinds) Seq(AttributeReference("_row_kind", StringType)()) else Nil
    val output = relation.output ++ kind
    val columns = StructType(output.map(a => org.apache.spark.sql.types.StructField(a.name, a.dataType, nullable = true)))
    val made = DataSource(
      sparkSession = SparkInternals.activeSession,
      className = classOf[StreamingSourceProvider].getName,
      userSpecifiedSchema = Some(columns),
      options = options ++ Map(StreamingSource.handle -> table.handle, StreamingSource.name -> table.name))
    StreamPlans.Relation(made, table.name, output)
  }
}
