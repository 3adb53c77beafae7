/* Spark's session catalog with tables of sqlext in it: the class of `spark.sql.catalog.spark_catalog`. Databases are
 * Spark's, and so are tables of other formats, views and functions: Spark's own catalog, to which a CatalogExtension
 * delegates, has them as before. */
package io.sqlext

import java.util

import org.apache.spark.sql.catalyst.analysis.{NoSuchFunctionException, NoSuchNamespaceException, NoSuchTableException, NonEmptyNamespaceException, TableAlreadyExistsException}
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction
import org.apache.spark.sql.connector.expressions.Transform

object SessionCatalog {
  val name = "spark_catalog"
}

class SessionCatalog extends Catalog with CatalogExtension {
  private var spark: TableCatalog with SupportsNamespaces with FunctionCatalog = _

  override def setDelegateCatalog(delegate: CatalogPlugin): Unit =
    spark = delegate.asInstanceOf[TableCatalog with SupportsNamespaces with FunctionCatalog]

  override def defaultNamespace: Array[String] = spark.defaultNamespace

  override def capabilities: util.Set[TableCatalogCapability] = spark.capabilities

  /** Whether a table, or part of one, is sqlext's. */
  override private[sqlext] def holds(namespace: Seq[String], table: String): Boolean = namespace.nonEmpty &&
    askTable("holds table", Identifier.of(namespace.toArray, table)).get("holds").asBoolean

  override private[sqlext] def makes(provider: Option[String]): Boolean =
    Bridge.ask("is iceberg", Map("provider" -> provider.orNull)).get("is_iceberg").asBoolean

  override def loadTable(table: Identifier): Table = found(table)(super.loadTable(table))(spark.loadTable(table))

  override def loadTable(table: Identifier, version: String): Table =
    found(table)(super.loadTable(table, version))(spark.loadTable(table, version))

  override def loadTable(table: Identifier, microseconds: Long): Table =
    found(table)(super.loadTable(table, microseconds))(spark.loadTable(table, microseconds))

  override def loadTable(table: Identifier, privileges: util.Set[TableWritePrivilege]): Table =
    found(table)(super.loadTable(table, privileges))(spark.loadTable(table, privileges))

  /** sqlext's table, else Spark's. */
  private def found(table: Identifier)(own: => Table)(other: => Table): Table =
    try own
    catch { case _: NoSuchTableException | _: NoSuchNamespaceException if table.namespace.length == 1 => other }

  override def tableExists(table: Identifier): Boolean = isOwn(table) || spark.tableExists(table)

  override def createTable(table: Identifier, columns: Array[Column], partitions: Array[Transform],
      properties: util.Map[String, String]): Table =
    if (makes(Option(properties.get(TableCatalog.PROP_PROVIDER)))) super.createTable(table, columns, partitions, properties)
    else if (isOwn(table)) throw new TableAlreadyExistsException(table)
    else spark.createTable(table, columns, partitions, properties)

  override def alterTable(table: Identifier, changes: TableChange*): Table =
    if (isOwn(table)) super.alterTable(table, changes: _*) else spark.alterTable(table, changes: _*)

  override def dropTable(table: Identifier): Boolean = if (isOwn(table)) super.dropTable(table) else spark.dropTable(table)

  override def purgeTable(table: Identifier): Boolean = if (isOwn(table)) super.purgeTable(table) else spark.purgeTable(table)

  override def renameTable(from: Identifier, to: Identifier): Unit =
    if (isOwn(from)) super.renameTable(from, to)
    else if (isOwn(to)) throw new TableAlreadyExistsException(to)
    else spark.renameTable(from, to)

  override def invalidateTable(table: Identifier): Unit = spark.invalidateTable(table)

  override def listTables(namespace: Array[String]): Array[Identifier] =
    (spark.listTables(namespace) ++ ownTables(namespace)).distinct

  override def listNamespaces(): Array[Array[String]] = spark.listNamespaces()

  override def listNamespaces(parent: Array[String]): Array[Array[String]] = spark.listNamespaces(parent)

  override def namespaceExists(namespace: Array[String]): Boolean = spark.namespaceExists(namespace)

  override def loadNamespaceMetadata(namespace: Array[String]): util.Map[String, String] = spark.loadNamespaceMetadata(namespace)

  override def createNamespace(namespace: Array[String], metadata: util.Map[String, String]): Unit =
    spark.createNamespace(namespace, metadata)

  override def alterNamespace(namespace: Array[String], changes: NamespaceChange*): Unit =
    spark.alterNamespace(namespace, changes: _*)

  /** sqlext's tables are dropped first: were they last, a failure would leave tables in no database. */
  override def dropNamespace(namespace: Array[String], cascade: Boolean): Boolean = {
    val others = spark.listTables(namespace)
    if (!cascade && (others ++ ownTables(namespace)).nonEmpty) throw new NonEmptyNamespaceException(namespace)
    dropOwnNamespace(namespace, cascade)
    spark.dropNamespace(namespace, cascade)
  }

  private def dropOwnNamespace(namespace: Array[String], cascade: Boolean): Unit =
    try super.dropNamespace(namespace, cascade) catch { case _: NoSuchNamespaceException => }

  override def listFunctions(namespace: Array[String]): Array[Identifier] =
    super.listFunctions(namespace) ++ (if (spark.namespaceExists(namespace)) spark.listFunctions(namespace) else Array.empty)

  override def loadFunction(function: Identifier): UnboundFunction =
    try super.loadFunction(function) catch { case _: NoSuchFunctionException => spark.loadFunction(function) }

  private def isOwn(table: Identifier): Boolean = holds(table.namespace.toSeq, table.name)

  private def ownTables(namespace: Array[String]): Array[Identifier] =
    try super.listTables(namespace) catch { case _: NoSuchNamespaceException => Array.empty }
}
