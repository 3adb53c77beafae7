/* The way from Spark to Python, which makes every decision about tables: one call, one JSON answer. Python implements
 * the trait; the object calls it, keeps answers that cannot change, and makes exceptions of refusals. Where no Python
 * driver has attached its side, the first call starts one as a child process. */
package io.sqlext

import java.util.concurrent.ConcurrentHashMap

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.spark.{QueryContext, SparkContext}
import org.apache.spark.sql.{AnalysisException, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.sqlext.{ErrorTemplates, PythonProcess, SparkInternals}
import py4j.Py4JException

import scala.jdk.CollectionConverters._

/** What Python implements. Every decision about tables is made on that side: one call, one JSON answer. */
trait Bridge {

  /** Answers a question about catalogs, tables, statements or scans. */
  def ask(question: String, arguments: String): String

  /** Runs a command; `rows` is the analysed source of a DataFrame write, else null. The answer is JSON, or the
    * Throwable of the Spark job that failed. */
  def run(session: SparkSession, command: String, arguments: String, rows: DataFrame): AnyRef
}

private case class OpenCatalog(name: String, options: Map[String, String], context: SparkContext)

object Bridge {
  private val keptBytes = 64L * 1024 * 1024
  private val catalogPrefix = "spark.sql.catalog."
  private val planPrefix = "sqlext.plan."
  private val batchSettings = "sqlext.txn."
  @volatile private var python: Bridge = _
  /** Of the bridge that is registered; null if that is a Python driver's. */
  @volatile private var process: PythonProcess = _
  private val kept = new KeptAnswers(keptBytes)
  private val opened = new ConcurrentHashMap[String, OpenCatalog]
  private[sqlext] val json = new ObjectMapper().registerModule(DefaultScalaModule)

  /** Another one than before may open catalogs of the same names with other settings. A Python driver's takes the place
    * of a child process, and opens the catalogs that this one had open. */
  def register(bridge: Bridge): Unit = {
    val before = process
    process = null
    python = bridge
    kept.clear()
    if (before != null) before.close()
    opened.values.removeIf(_.context.isStopped)
    opened.values.forEach(catalog => askToOpen(catalog))
  }

  def isAttached: Boolean = python != null

  /** Has Python open a catalog, now and after another Python side has taken its place. */
  def open(name: String, options: Map[String, String]): Unit = {
    val catalog = OpenCatalog(name, options, SparkInternals.activeSession.sparkContext)
    askToOpen(catalog)
    opened.put(name, catalog)
  }

  private def askToOpen(catalog: OpenCatalog): Unit =
    ask("initialize catalog", Map("catalog" -> catalog.name, "options" -> catalog.options))

  /** Spark hands a catalog its options once. One that a session sets afterwards would have no effect, as that of another
    * warehouse: rows would go into the one before. */
  def requireOptionsOfUse(settings: Map[String, String], catalogs: String => Boolean): Unit =
    for ((key, value) <- settings if key.startsWith(catalogPrefix)) {
      val (name, option) = key.drop(catalogPrefix.length).span(_ != '.')
      if (option.nonEmpty && catalogs(name))
        for (catalog <- Option(opened.get(name)) if !catalog.options.get(option.tail).contains(value))
          throw refusal("refuse catalog option", Map("catalog" -> name, "option" -> option.tail))
    }

  def ask(question: String, arguments: Map[String, Any]): JsonNode =
    decode(answered(_.ask(question, json.writeValueAsString(arguments))))

  /** Of one version of a table, which the handle in `arguments` names: an answer that will be the same for ever. */
  def askOnce(question: String, arguments: Map[String, Any]): JsonNode = {
    val asked = question + json.writeValueAsString(arguments)
    kept.get(asked).getOrElse {
      val text = answered(_.ask(question, asked.drop(question.length)))
      val answer = decode(text)
      kept.keep(asked, answer, text.length)
      answer
    }
  }

  /** The error by which Python answers a question that it always refuses. */
  def refusal(question: String, arguments: Map[String, Any]): SqlextException =
    try throw new IllegalStateException(ask(question, arguments).toString)
    catch { case refused: SqlextException => refused }

  /** Python plans changes of rows, and knows their batch, by the settings that the session has as the command begins. Its
    * jobs are named after `title`. */
  def run(session: SparkSession, command: String, title: String, arguments: Map[String, Any], rows: DataFrame): JsonNode =
    JobNames.of(session, title, arguments.get("text").map(_.toString)) { NewestVersions.inCommand {
      val settings = session.conf.getAll
      requireOptionsOfUse(settings, _ => true)
      val planned = arguments ++ Map(
        "plan_settings" -> planSettings(settings),
        "batch_settings" -> settings.filter(_._1.startsWith(batchSettings)),
        "transaction_of" -> session.conf.getOption(SparkInternals.transactionOf).orNull)
      answered(_.run(session, command, json.writeValueAsString(planned), rows)) match {
        case failure: Throwable => throw failure
        case answer => decode(answer.toString)
      }
    } }

  /** Those of a session's settings by which Python plans. */
  private[sqlext] def planSettings(settings: Map[String, String]): Map[String, String] =
    settings.filter(_._1.startsWith(planPrefix))

  /** A question whose answer changes what sessions see. */
  def change(question: String, arguments: Map[String, Any]): JsonNode =
    try ask(question, arguments)
    finally Moment.commandEnded()

  /** The answer of the Python side: of the driver that has attached it, or of a child process. */
  private def answered[A](question: Bridge => A): A = {
    if (isAlone) startProcess()
    val asked = process
    try question(python)
    catch {
      case broken: Py4JException if asked != null =>
        throw asked.end.fold[Throwable](broken)(SqlextException.processEnded(_, broken))
    }
  }

  /** Whether no Python side is there: none was, or it was a child process that no longer serves. */
  private def isAlone: Boolean = python == null || (process != null && !process.serves)

  /** Whether a question is answered without a Python side being started for it. */
  def isServed: Boolean = !isAlone

  private def startProcess(): Unit = synchronized {
    if (isAlone) {
      python = null
      if (process != null) process.close()
      process = null
      process = PythonProcess.start()
    }
  }

  def encode(value: Any): String = json.writeValueAsString(value)

  def decode(answer: String): JsonNode = {
    val node = json.readTree(answer)
    val error = node.get("error")
    if (error != null) throw SqlextException.of(error.get("condition").asText, error.get("sqlstate").asText,
      error.get("template").asText, error.get("message").asText, error.get("parameters").properties.asScala.map(e => e.getKey -> e.getValue.asText).toMap)
    node
  }
}

/** An error of the Python side with its condition; Spark's Python API shows it as an AnalysisException. */
class SqlextException(condition: String, state: String, text: String, parameters: Map[String, String], cause: Option[Throwable] = None)
    extends AnalysisException(text, None, None, cause, Some(condition), parameters, Array.empty[QueryContext]) {
  override def getCondition: String = condition
  override def getSqlState: String = state

  /** Itself: Spark would put one of its own exceptions in its place, whose condition it then does not know. */
  override def withPosition(origin: Origin): AnalysisException = this
}

object SqlextException {
  def of(condition: String, state: String, template: String, text: String, parameters: Map[String, String]): SqlextException = {
    ErrorTemplates.add(condition, state, template)
    new SqlextException(condition, state, text, parameters)
  }

  /** An error that Python is not there to make; `template` has its parameters in angle brackets. */
  def ofShim(condition: String, state: String, template: String, parameters: Map[String, String],
      cause: Option[Throwable] = None): SqlextException = {
    val text = parameters.foldLeft(template) { case (told, (name, value)) => told.replace(s"<$name>", value) }
    ErrorTemplates.add(condition, state, template)
    new SqlextException(condition, state, s"[$condition] $text SQLSTATE: $state", parameters, cause)
  }

  def processEnded(how: String, cause: Throwable): SqlextException =
    ofShim("PYTHON_ENDED", "58000", "The Python side of sqlext ended (<how>) while it ran the statement. If " +
      "it changes tables, look in their snapshots whether it has committed. The next statement starts Python anew; a " +
      "transaction that was open is lost, and none of it is committed.", Map("how" -> how), Some(cause))

  /** What Python says of a missing file too: Spark's own text advises REFRESH TABLE, which brings no file back. */
  def fileNotFound(path: String): SqlextException = ofShim("FILE_NOT_FOUND", "58030",
    "The file <path> (<kind>) does not exist. Restore it, or read an earlier snapshot of the table.",
    Map("path" -> path, "kind" -> "data file"))
}
