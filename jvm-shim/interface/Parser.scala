/* Spark's ParserInterface. Python is asked first whether a text is a statement on a sqlext catalog, and what Spark is
 * to take in place of hints that it does not know; a text that is none of ours costs that one question. All else is
 * Spark's own parser's.
 *
 * It is a proxy rather than a subclass, since ParserInterface gains abstract methods from one Spark minor to the next. */
package io.sqlext

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method, Proxy}
import java.util.Locale

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.classic
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.{ParsedStatements, SparkInternals, StatementErrors}
import org.apache.spark.sql.types.{DataType, StructType}

import scala.util.{Failure, Success, Try}

object Parser {
  private val settings = "spark.sql.catalog."
  private val transactional = Seq("begin", "transaction", "commit", "rollback", "savepoint")
  private val classes = Set(classOf[Catalog].getName, classOf[SessionCatalog].getName)
  private val statements = Set("parsePlan", "parsePlanWithParameters")

  def around(session: SparkSession, delegate: ParserInterface): ParserInterface = {
    val handler: InvocationHandler = (_: AnyRef, method: Method, arguments: Array[AnyRef]) =>
      try Option(arguments).flatMap(_.headOption) match {
        case Some(text: String) if statements(method.getName) || text.contains("/*+") =>
          parsed(session.asInstanceOf[classic.SparkSession], delegate, method, text, arguments)
        case _ => method.invoke(delegate, arguments: _*)
      } catch {
        case failure: InvocationTargetException => throw declared(failure.getCause)
        case failure: AnalysisException => throw declared(failure)
      }
    Proxy.newProxyInstance(classOf[Extensions].getClassLoader, Array(classOf[ParserInterface]), handler)
      .asInstanceOf[ParserInterface]
  }

  private def parsed(session: classic.SparkSession, delegate: ParserInterface, method: Method, text: String,
      arguments: Array[AnyRef]): AnyRef =
    if (!concernsPython(session, text)) method.invoke(delegate, arguments: _*)
    else try asked(session, delegate, method, text, arguments)
    catch { case failure: SqlextException if statements(method.getName) => UnaskedStatement(failure) }

  private def asked(session: classic.SparkSession, delegate: ParserInterface, method: Method, text: String,
      arguments: Array[AnyRef]): AnyRef = {
    val seen = Bridge.ask("first look", Map("text" -> text) ++ lexing(session.sessionState.conf))
    val forSpark = Option(seen.get("text").textValue).getOrElse(text)
    val command =
      if (!statements(method.getName) || !seen.get("may_be_ours").asBoolean) None
      else ParsedStatements.withParameters(text, arguments.drop(1).toSeq)(commandFor(session, _))
    command.getOrElse(method.invoke(delegate, arguments.updated(0, forSpark): _*))
  }

  /** Whether Python is asked about a text. While it does not run, it is started only for a text that may be its own: one
    * that names one of its catalogs, or is in one, or is of a transaction. */
  private def concernsPython(session: classic.SparkSession, text: String): Boolean = {
    val catalogs = catalogsOf(session.sessionState.conf)
    catalogs.nonEmpty && (Bridge.isAttached || {
      val words = text.toLowerCase(Locale.ROOT)
      (transactional ++ catalogs.map(_.toLowerCase(Locale.ROOT))).exists(words.contains) ||
        catalogs.contains(session.sessionState.catalogManager.currentCatalog.name)
    })
  }

  /** The failure as what a proxy may throw: ParserInterface declares ParseException, and another checked exception,
    * such as that of a parameter without a value or of a script, would come out as an UndeclaredThrowableException. */
  private def declared(failure: Throwable): Throwable = failure match {
    case parsing: ParseException => parsing
    case other: AnalysisException if other.getCondition != null =>
      ParsedStatements.parseError(other, Origin(other.line, other.startPosition))
    case checked: SparkThrowable if !checked.isInstanceOf[RuntimeException] && checked.getCondition != null =>
      ParsedStatements.parseError(checked, Origin())
    case other => other
  }

  /** The names of the sqlext catalogs that are configured. */
  private[sqlext] def catalogsOf(conf: SQLConf): Seq[String] = conf.getAllConfs.collect {
    case (key, value) if classes(value) && key.startsWith(settings) => key.substring(settings.length)
  }.toSeq

  private def lexing(conf: SQLConf): Map[String, Any] = Map(
    "escaped_string_literals" -> conf.escapedStringLiterals,
    "double_quoted_identifiers" -> conf.doubleQuotedIdentifiers)

  private def commandFor(session: classic.SparkSession, text: String): Option[LogicalPlan] = {
    val state = session.sessionState
    val catalogs = catalogsOf(state.conf)
    // Which tables of Spark's session catalog are sqlext's is asked as a text is parsed, for which it is open.
    if (catalogs.contains(SessionCatalog.name)) state.catalogManager.catalog(SessionCatalog.name)
    val context: Map[String, Any] = Map(
      "text" -> text,
      "catalogs" -> catalogs,
      "session" -> SparkInternals.idOf(session),
      "current" -> (state.catalogManager.currentCatalog.name +: state.catalogManager.currentNamespace.toSeq),
      "by_path" -> state.conf.getConfString("spark.sql.path.enabled", "false").toBoolean,
      "case_sensitive" -> state.conf.caseSensitiveAnalysis) ++ lexing(state.conf)
    val answer = Bridge.ask("parse", context)
    Option(answer.get("schema")).map { told =>
      val catalog = Option(answer.get("catalog").textValue)
      def command(schema: DataType): LogicalPlan =
        PythonCommand(context, answer.get("title").asText, catalog, schema.asInstanceOf[StructType], told.isNull)
      if (!told.isNull) command(DataType.fromJson(told.toString))
      else {
        catalog.foreach(state.catalogManager.catalog)
        val result = Bridge.ask("result schema", context)
        Option(result.get("query")).map(_.textValue) match {
          case None => command(DataType.fromJson(result.get("schema").toString))
          case Some(query) =>
            // What is wrong with the user's part of the query is told when the statement runs.
            Try(session.sql(query).schema) match {
              case Success(schema) => command(SparkInternals.asNullable(schema))
              case Failure(refused: AnalysisException) => UnaskedStatement(StatementErrors.placed(refused, text))
              case Failure(failure) => throw failure
            }
        }
      }
    }
  }
}
