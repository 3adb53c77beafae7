package io.sqlext

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method, Proxy}

import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.parser.{ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.classic
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructType}

import scala.jdk.CollectionConverters._

/** Spark's parser with one question put before it: does this statement concern a sqlext catalog?
  *
  * A proxy rather than a subclass, since ParserInterface gains abstract methods from one Spark minor to the next. */
object Parser {
  private val heads = Set("CREATE", "REPLACE", "INSERT", "MERGE", "UPDATE", "DELETE", "WITH", "SHOW", "UPSERT",
    "ALTER", "CALL", "EXPLAIN", "RESTORE", "DROP", "UNDROP", "TRUNCATE", "DESCRIBE", "DESC",
    "BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")
  private val hint = "(?i)/\\*\\+\\s*OPTIONS\\b".r
  private val settings = "spark.sql.catalog."

  def around(session: SparkSession, delegate: ParserInterface): ParserInterface = {
    val handler: InvocationHandler = (_: AnyRef, method: Method, arguments: Array[AnyRef]) =>
      try statementIn(session, method, arguments).flatMap(commandFor(session, _))
        .getOrElse(method.invoke(delegate, withVersions(session, arguments): _*))
      catch {
        case failure: InvocationTargetException => throw declared(failure.getCause)
        case failure: AnalysisException => throw declared(failure)
      }
    Proxy.newProxyInstance(classOf[Extensions].getClassLoader, Array(classOf[ParserInterface]), handler)
      .asInstanceOf[ParserInterface]
  }

  /** The failure as what a proxy may throw: ParserInterface declares ParseException, and another checked exception, such as
    * that of a parameter without a value, would come out as an UndeclaredThrowableException. */
  private def declared(failure: Throwable): Throwable = failure match {
    case parsing: ParseException => parsing
    case other: AnalysisException if other.getCondition != null =>
      new ParseException(None, Origin(other.line, other.startPosition), other.getCondition,
        other.getMessageParameters.asScala.toMap, other.getQueryContext)
    case other => other
  }

  private def statementIn(session: SparkSession, method: Method, arguments: Array[AnyRef]): Option[String] = method.getName match {
    case "parsePlan" => Some(arguments(0).asInstanceOf[String]).filter(mayConcern)
    case "parsePlanWithParameters" =>
      Some(arguments(0).asInstanceOf[String]).filter(mayConcern)
        .map(text => if (isEmpty(arguments(1))) text else withParameters(withVersions(session, text), arguments(1)))
    case _ => None
  }

  private def mayConcern(text: String): Boolean = heads(headWord(text)) || hint.findFirstIn(text).isDefined

  /** Whether there are no parameters: Spark looks for them in the grammar of its own, which lacks some of our syntax. */
  private def isEmpty(parameters: AnyRef): Boolean = parameters match {
    case context: Product => context.productIterator.forall { case given: Iterable[_] => given.isEmpty; case _ => false }
    case _ => false
  }

  /** The text with Spark's own literals in place of its parameters; by reflection, since Spark 4.0 has no such class. */
  private def withParameters(text: String, parameters: AnyRef): String = {
    val handler = Class.forName("org.apache.spark.sql.catalyst.parser.ParameterHandler")
    val substitute = handler.getMethods.find(_.getName == "substituteParameters").get
    try substitute.invoke(null, text, parameters).asInstanceOf[(String, Any)]._1
    catch { case failure: InvocationTargetException => throw failure.getCause }
  }

  /** The first word in upper case, white space and comments passed over. */
  private[sqlext] def headWord(text: String): String = {
    var at = 0
    var skipping = true
    while (skipping) {
      while (at < text.length && (text(at).isWhitespace || text(at) == '(')) at += 1
      val end =
        if (text.startsWith("--", at)) text.indexOf('\n', at) + 1
        else if (text.startsWith("/*", at) && !text.startsWith("/*+", at)) text.indexOf("*/", at) + 2
        else at
      skipping = end > at
      if (skipping) at = end
    }
    text.substring(at).takeWhile(_.isLetter).toUpperCase(java.util.Locale.ROOT)
  }

  /** The names of the sqlext catalogs that are configured. */
  private[sqlext] def catalogsOf(conf: SQLConf): Seq[String] = conf.getAllConfs.collect {
    case (key, value) if value == classOf[Catalog].getName && key.startsWith(settings) => key.substring(settings.length)
  }.toSeq

  /** Spark knows no hint behind a table: it gets versions of tables in the place of options of reads. */
  private def withVersions(session: SparkSession, arguments: Array[AnyRef]): Array[AnyRef] =
    Option(arguments).flatMap(_.headOption) match {
      case Some(text: String) => arguments.updated(0, withVersions(session, text))
      case _ => arguments
    }

  private def withVersions(session: SparkSession, text: String): String = {
    val conf = session.asInstanceOf[classic.SparkSession].sessionState.conf
    if (hint.findFirstIn(text).isEmpty || catalogsOf(conf).isEmpty || !Bridge.isRegistered) text
    else Bridge.ask("read hints", Map("text" -> text) ++ lexing(conf)).get("text").asText
  }

  private def lexing(conf: SQLConf): Map[String, Any] = Map(
    "escaped_string_literals" -> conf.escapedStringLiterals,
    "double_quoted_identifiers" -> conf.doubleQuotedIdentifiers)

  private def commandFor(session: SparkSession, text: String): Option[LogicalPlan] = {
    val state = session.asInstanceOf[classic.SparkSession].sessionState
    val catalogs = catalogsOf(state.conf)
    if (catalogs.isEmpty || !Bridge.isRegistered) None
    else {
      val context: Map[String, Any] = Map(
        "text" -> text,
        "catalogs" -> catalogs,
        "current" -> (state.catalogManager.currentCatalog.name +: state.catalogManager.currentNamespace.toSeq)) ++
        lexing(state.conf) + ("case_sensitive" -> state.conf.caseSensitiveAnalysis)
      val answer = Bridge.ask("parse", context)
      Option(answer.get("schema")).map { schema =>
        val catalog = Some(answer.get("catalog")).filterNot(_.isNull).map(_.asText)
        PythonCommand(context, catalog, DataType.fromJson(schema.toString).asInstanceOf[StructType])
      }
    }
  }
}
