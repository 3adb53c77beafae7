/* Spark's TableCatalog, SupportsNamespaces and FunctionCatalog. Each method is one question to Python, whose refusals
 * become the exceptions that Spark's interface names. */
package io.sqlext

import java.util

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.analysis.{NamespaceAlreadyExistsException, NoSuchFunctionException, NoSuchNamespaceException, NoSuchTableException}
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction
import org.apache.spark.sql.connector.expressions.{Literal, NamedReference, Transform}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.{SparkInternals, Views}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import scala.jdk.CollectionConverters._

object Catalog {
  def describe(transform: Transform): Map[String, Any] = Map(
    "name" -> transform.name,
    "columns" -> transform.arguments.toSeq.collect { case r: NamedReference => r.fieldNames.toSeq },
    "numbers" -> transform.arguments.toSeq.collect { case l: Literal[_] => l.value.toString })

  /** Whether a name, with its catalog, is in a catalog of sqlext, and not one of Spark's in its session catalog. */
  def holds(name: Seq[String]): Boolean = SparkInternals.activeSession.sessionState.catalogManager.catalog(name.head) match {
    case catalog: Catalog => catalog.holds(name.tail.dropRight(1), name.last)
    case _ => false
  }

  /** The branch that the session works on, of tables that are written, audited and then published. */
  private[sqlext] def wapBranch: Option[String] = Option(SQLConf.get.getConfString("spark.wap.branch", null))

  private[sqlext] def atWapBranch: Map[String, Any] = wapBranch.map("wap_branch" -> _).toMap
}

/** Spark's catalog interface, every method one question to Python. */
class Catalog extends TableCatalog with SupportsNamespaces with FunctionCatalog {
  private var catalog: String = _
  private var namespaceOfUse: Array[String] = Array.empty

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = {
    catalog = name
    val wanted = if (name == SessionCatalog.name) classOf[SessionCatalog] else classOf[Catalog]
    if (getClass != wanted) throw Bridge.refusal("refuse catalog class",
      Map("catalog" -> name, "given" -> getClass.getName, "wanted" -> wanted.getName))
    namespaceOfUse = Option(options.get("default-namespace")).fold(Array.empty[String])(_.split('.'))
    Bridge.open(name, options.asCaseSensitiveMap.asScala.toMap)
  }

  override def name: String = catalog

  override def toString: String = name

  override def defaultNamespace: Array[String] = namespaceOfUse

  /** Whether a name in this catalog is that of a table of sqlext, if it is that of any. */
  private[sqlext] def holds(namespace: Seq[String], table: String): Boolean = true

  /** Whether new tables of the provider are sqlext's, or Spark's. */
  private[sqlext] def makes(provider: Option[String]): Boolean = true

  override def loadTable(table: Identifier): Table = load(table, Map.empty)

  override def loadTable(table: Identifier, version: String): Table = load(table, Map("version" -> version))

  override def loadTable(table: Identifier, microseconds: Long): Table = load(table, Map("timestamp" -> microseconds))

  /** A table to write to: Python puts the rows into its columns, or gives it theirs. */
  override def loadTable(table: Identifier, privileges: util.Set[TableWritePrivilege]): Table =
    load(table, Map.empty, takesAnyColumns = true)

  private def load(table: Identifier, at: Map[String, Any], takesAnyColumns: Boolean = false): Table = {
    val answer = askTable("load table", table, at ++ Catalog.atWapBranch + ("written" -> takesAnyColumns))
    Option(answer.get("view")).map(Views.table(catalog, _))
      .getOrElse(new SqlextTable(answer.get("table"), Rows, takesAnyColumns, isPinned = at.nonEmpty))
  }

  override def tableExists(table: Identifier): Boolean = askTable("table exists", table).get("exists").asBoolean

  override def createTable(table: Identifier, columns: Array[Column], partitions: Array[Transform],
      properties: util.Map[String, String]): Table = {
    changeTable("create table", table, Map(
      "schema" -> SparkInternals.struct(columns).json,
      "partitioning" -> partitions.toSeq.map(Catalog.describe),
      "properties" -> properties.asScala.toMap,
      "case_sensitive" -> SQLConf.get.caseSensitiveAnalysis))
    loadTable(table)
  }

  override def alterTable(table: Identifier, changes: TableChange*): Table = {
    val described = changes.map {
      case c: TableChange.SetProperty => Map("change" -> "set property", "key" -> c.property, "value" -> c.value)
      case c: TableChange.RemoveProperty => Map("change" -> "remove property", "key" -> c.property)
      case c => Map("change" -> c.getClass.getSimpleName)
    }
    changeTable("alter table", table, Map("changes" -> described))
    loadTable(table)
  }

  override def dropTable(table: Identifier): Boolean = drop(table, purge = false)

  override def purgeTable(table: Identifier): Boolean = drop(table, purge = true)

  private def drop(table: Identifier, purge: Boolean): Boolean =
    changeTable("drop table", table, Map("purge" -> purge)).get("dropped").asBoolean

  override def renameTable(from: Identifier, to: Identifier): Unit =
    changeTable("rename table", from, Map("to" -> (to.namespace.toSeq :+ to.name)))

  override def listTables(namespace: Array[String]): Array[Identifier] =
    texts(askNamespace("list tables", namespace).get("names")).map(Identifier.of(namespace, _))

  override def listNamespaces(): Array[Array[String]] = listNamespaces(Array.empty)

  override def listNamespaces(parent: Array[String]): Array[Array[String]] =
    texts(askNamespace("list namespaces", parent).get("names")).map(parent :+ _)

  override def namespaceExists(namespace: Array[String]): Boolean =
    askNamespace("namespace exists", namespace).get("exists").asBoolean

  override def loadNamespaceMetadata(namespace: Array[String]): util.Map[String, String] =
    askNamespace("load namespace", namespace).get("properties").properties.asScala
      .map(e => e.getKey -> e.getValue.asText).toMap.asJava

  override def createNamespace(namespace: Array[String], metadata: util.Map[String, String]): Unit =
    try askNamespace("create namespace", namespace, Map("properties" -> metadata.asScala.toMap))
    catch { case taken: SqlextException if taken.getCondition == "SCHEMA_ALREADY_EXISTS" => throw new NamespaceTaken(namespace, taken) }

  override def alterNamespace(namespace: Array[String], changes: NamespaceChange*): Unit =
    askNamespace("alter namespace", namespace, Map("changes" -> changes.map {
      case c: NamespaceChange.SetProperty => Map("change" -> "set property", "key" -> c.property, "value" -> c.value)
      case c: NamespaceChange.RemoveProperty => Map("change" -> "remove property", "key" -> c.property)
      case c => Map("change" -> c.getClass.getSimpleName)
    }))

  override def dropNamespace(namespace: Array[String], cascade: Boolean): Boolean =
    askNamespace("drop namespace", namespace, Map("cascade" -> cascade)).get("dropped").asBoolean

  override def listFunctions(namespace: Array[String]): Array[Identifier] =
    if (hasFunctions(namespace)) TransformFunction.names.map(Identifier.of(namespace, _)).toArray else Array.empty

  override def loadFunction(function: Identifier): UnboundFunction =
    Option(function).filter(f => hasFunctions(f.namespace)).flatMap(f => TransformFunction.find(f.name))
      .getOrElse(throw new NoSuchFunctionException(function))

  /** Spark looks the functions of partition transforms up in no namespace. */
  private def hasFunctions(namespace: Array[String]): Boolean =
    namespace.isEmpty || (namespace.length == 1 && namespace.head.equalsIgnoreCase("system"))

  private[sqlext] def askTable(question: String, table: Identifier, more: Map[String, Any] = Map.empty): JsonNode =
    aboutTable(Bridge.ask, question, table, more)

  private def changeTable(question: String, table: Identifier, more: Map[String, Any]): JsonNode =
    aboutTable(Bridge.change, question, table, more)

  private def aboutTable(put: (String, Map[String, Any]) => JsonNode, question: String, table: Identifier,
      more: Map[String, Any]): JsonNode =
    try put(question, asked(table.namespace, more) + ("name" -> table.name))
    catch { case e: SqlextException if e.getCondition == "TABLE_OR_VIEW_NOT_FOUND" => throw new NoSuchTableException(table) }

  private def askNamespace(question: String, namespace: Array[String], more: Map[String, Any] = Map.empty): JsonNode =
    try Bridge.ask(question, asked(namespace, more))
    catch { case e: SqlextException if e.getCondition == "SCHEMA_NOT_FOUND" => throw new NoSuchNamespaceException(namespace) }

  private def asked(namespace: Array[String], more: Map[String, Any]): Map[String, Any] = {
    Bridge.requireOptionsOfUse(SQLConf.get.getAllConfs, _ == catalog)
    more ++ Map("catalog" -> catalog, "namespace" -> namespace.toSeq, "session" -> SparkInternals.sessionId)
  }

  private def texts(node: JsonNode): Array[String] = node.elements.asScala.map(_.asText).toArray
}

/** What Spark 4.3 expects of a name that is taken: with IF NOT EXISTS it logs any other exception with its stack. */
private class NamespaceTaken(namespace: Array[String], told: SqlextException) extends NamespaceAlreadyExistsException(namespace) {
  override def getMessage: String = told.getMessage
}
