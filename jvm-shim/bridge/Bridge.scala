/* The way from Spark to Python, which makes every decision about tables: one call, one JSON answer. Python implements
 * the trait; the object calls it, keeps answers that cannot change, and makes exceptions of refusals. */
package io.sqlext

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.spark.QueryContext
import org.apache.spark.sql.{AnalysisException, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.trees.Origin

import scala.jdk.CollectionConverters._

/** What Python implements. Every decision about tables is made on that side: one call, one JSON answer. */
trait Bridge {

  /** Answers a question about catalogs, tables, statements or scans. */
  def ask(question: String, arguments: String): String

  /** Runs a command; `rows` is the analysed source of a DataFrame write, else null. The answer is JSON, or the
    * Throwable of the Spark job that failed. */
  def run(session: SparkSession, command: String, arguments: String, rows: DataFrame): AnyRef
}

object Bridge {
  private val keptBytes = 64L * 1024 * 1024
  private val planSettings = "sqlext.plan."
  @volatile private var python: Bridge = _
  private val kept = new KeptAnswers(keptBytes)
  private[sqlext] val json = new ObjectMapper().registerModule(DefaultScalaModule)

  /** Another one than before may open catalogs of the same names with other settings. */
  def register(bridge: Bridge): Unit = {
    python = bridge
    kept.clear()
  }

  def isRegistered: Boolean = python != null

  def ask(question: String, arguments: Map[String, Any]): JsonNode =
    decode(attached.ask(question, json.writeValueAsString(arguments)))

  /** Of one version of a table, which the handle in `arguments` names: an answer that will be the same for ever. */
  def askOnce(question: String, arguments: Map[String, Any]): JsonNode = {
    val asked = question + json.writeValueAsString(arguments)
    kept.get(asked).getOrElse {
      val text = attached.ask(question, asked.drop(question.length))
      val answer = decode(text)
      kept.keep(asked, answer, text.length)
      answer
    }
  }

  /** The error by which Python answers a question that it always refuses. */
  def refusal(question: String, arguments: Map[String, Any]): SqlextException =
    try throw new IllegalStateException(ask(question, arguments).toString)
    catch { case refused: SqlextException => refused }

  /** Python plans changes of rows by the settings that the session has as the command begins. */
  def run(session: SparkSession, command: String, arguments: Map[String, Any], rows: DataFrame): JsonNode =
    NewestVersions.inCommand {
      val planned = arguments + ("plan_settings" -> session.conf.getAll.filter(_._1.startsWith(planSettings)))
      attached.run(session, command, json.writeValueAsString(planned), rows) match {
        case failure: Throwable => throw failure
        case answer => decode(answer.toString)
      }
    }

  /** A question whose answer changes what sessions see. */
  def change(question: String, arguments: Map[String, Any]): JsonNode =
    try ask(question, arguments)
    finally Moment.commandEnded()

  private def attached: Bridge = {
    if (python == null) throw new SqlextException("SQLEXT_NOT_ATTACHED", "55000",
      "[SQLEXT_NOT_ATTACHED] The Spark session has no sqlext: its Python side is not attached. Build the session with " +
        "sqlext.configure(SparkSession.builder).getOrCreate(), or call sqlext.attach(spark). SQLSTATE: 55000", Map.empty)
    python
  }

  def encode(value: Any): String = json.writeValueAsString(value)

  private def decode(answer: String): JsonNode = {
    val node = json.readTree(answer)
    val error = node.get("error")
    if (error != null) throw new SqlextException(error.get("condition").asText, error.get("sqlstate").asText,
      error.get("message").asText, error.get("parameters").properties.asScala.map(e => e.getKey -> e.getValue.asText).toMap)
    node
  }
}

/** An error of the Python side with its condition; Spark's Python API shows it as an AnalysisException. */
class SqlextException(condition: String, state: String, text: String, parameters: Map[String, String])
    extends AnalysisException(text, None, None, None, Some(condition), parameters, Array.empty[QueryContext]) {
  override def getCondition: String = condition
  override def getSqlState: String = state

  /** Itself: Spark would put one of its own exceptions in its place, whose condition it then does not know. */
  override def withPosition(origin: Origin): AnalysisException = this
}

object SqlextException {
  /** What Python says of a missing file too: Spark's own text advises REFRESH TABLE, which brings no file back. */
  def fileNotFound(path: String): SqlextException = new SqlextException("FILE_NOT_FOUND", "58030",
    s"[FILE_NOT_FOUND] The file $path (data file) does not exist. Restore it, or read an earlier snapshot of the table. " +
      "SQLSTATE: 58030", Map("path" -> path, "kind" -> "data file"))
}
