/* What Spark keeps to its own packages and the shim cannot do without: this file stands in one of them. */
package org.apache.spark.sql.sqlext

import java.io.FileNotFoundException
import java.util.{List => JavaList, UUID}

import io.sqlext.SqlextException
import org.apache.spark.{Partition, SparkContext, SparkException, SparkRuntimeException, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession, classic}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{AnalysisContext, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, TableSpec}
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, Column, Identifier, Table, TableCatalog}
import org.apache.spark.sql.connector.expressions.filter.{And, Not, Or, Predicate}
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.execution.{LogicalRDD, SortExec}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Strategy, FileDataSourceV2}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.streaming.ProcessingTimeTrigger
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.internal.connector.PredicateUtils
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{DataType, StructType}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

object SparkInternals {
  def ofRows(session: classic.SparkSession, plan: LogicalPlan): classic.DataFrame = classic.Dataset.ofRows(session, plan)

  /** A micro-batch as rows that can be planned with: the plan it comes with is bound to the stream. */
  def rowsOfBatch(data: DataFrame): DataFrame = {
    val batch = data.asInstanceOf[classic.DataFrame]
    ofRows(batch.sparkSession, LogicalRDD.fromDataset(batch.queryExecution.toRdd, batch, isStreaming = false))
  }

  /** Whether the rows of a micro-batch come in the order in which each task of its source has them. */
  def keepsOrder(data: DataFrame): Boolean =
    data.queryExecution.executedPlan.collectFirst {
      case moved: Exchange => moved
      case joined: BaseJoinExec => joined
      case sorted: SortExec => sorted
      // What it will run is not known yet; Spark adapts plans only that move rows.
      case adapted: AdaptiveSparkPlanExec => adapted
    }.isEmpty

  /** The id of the run that a streaming query is in, which is the group of its jobs. */
  def runOfQuery(data: DataFrame): String =
    data.asInstanceOf[classic.DataFrame].sparkSession.sparkContext.getLocalProperty("spark.jobGroup.id")

  /** The milliseconds between the batches of a running query, where its trigger says so. */
  def triggerInterval(data: DataFrame, query: String): Option[Long] = {
    val running = data.asInstanceOf[classic.DataFrame].sparkSession.sharedState.activeStreamingQueries
    Option(running.get(UUID.fromString(query))).map(_.trigger).collect { case ProcessingTimeTrigger(ms) if ms > 0 => ms }
  }

  /** The id of the streaming query whose thread this is. It stays when the query is started again. */
  def queryOfThread(session: SparkSession): String =
    session.asInstanceOf[classic.SparkSession].sparkContext.getLocalProperty("sql.streaming.queryId")

  /** The name of a running query, if it has one. */
  def nameOfQuery(session: SparkSession, query: String): Option[String] = {
    val running = session.asInstanceOf[classic.SparkSession].sharedState.activeStreamingQueries
    Option(running.get(UUID.fromString(query))).flatMap(one => Option(one.name))
  }

  /** The name with its catalog, which is open then. */
  def nameInCatalog(name: String): Seq[String] =
    nameInCatalog(classic.SparkSession.active.sessionState.sqlParser.parseMultipartIdentifier(name))

  /** In the query of a view, names are those of the catalog and namespace that were current when it was made. */
  def nameInCatalog(parts: Seq[String]): Seq[String] = {
    val manager = classic.SparkSession.active.sessionState.catalogManager
    val ofView = AnalysisContext.get.catalogAndNamespace
    val current = if (ofView.nonEmpty) ofView else manager.currentCatalog.name +: manager.currentNamespace.toSeq
    val whole =
      if (parts.length == 1) current ++ parts
      else if (manager.isCatalogRegistered(parts.head)) parts
      else current.head +: parts
    manager.catalog(whole.head)
    whole
  }

  /** The options of a relation that is read; none of one that a statement writes to. */
  def readOptions(relation: UnresolvedRelation): Map[String, String] =
    if (relation.options.containsKey(UnresolvedRelation.REQUIRED_WRITE_PRIVILEGES)) Map.empty
    else relation.options.asCaseSensitiveMap.asScala.toMap

  /** Rows of a query as those of a batch of a stream. */
  def streamed(rows: DataFrame): DataFrame = {
    val batch = rows.asInstanceOf[classic.DataFrame]
    ofRows(batch.sparkSession, LogicalRDD.fromDataset(batch.queryExecution.toRdd, batch, isStreaming = true))
  }

  /** A batch of a stream whose rows cannot be had: `error` is thrown when they are asked for. */
  def refused(session: SparkSession, schema: StructType, error: Exception): DataFrame = {
    val own = session.asInstanceOf[classic.SparkSession]
    own.internalCreateDataFrame(new RefusedRows(own.sparkContext, error), schema, isStreaming = true)
  }

  def activeSession: classic.SparkSession = classic.SparkSession.active

  def cloneOf(session: SparkSession): SparkSession = session.asInstanceOf[classic.SparkSession].cloneSession()

  def settingsOf(session: SparkSession): SQLConf = session.asInstanceOf[classic.SparkSession].sessionState.conf

  def optionsOf(relation: StreamingRelationV2): Map[String, String] = relation.extraOptions.asCaseSensitiveMap.asScala.toMap

  def parsed(sql: String): LogicalPlan = classic.SparkSession.active.sessionState.sqlParser.parsePlan(sql)

  /** Drops caches of the table, by the parts of its name, and of queries on it. */
  def dropCaches(session: SparkSession, table: JavaList[String]): Unit = ifCached(session)(TableCaches.drop(_, table.asScala.toSeq))

  /** Caches of the table, by the parts of its name, and of queries on it are made anew when they are next used, or
    * dropped where they cannot be. */
  def renewCaches(session: SparkSession, table: Seq[String]): Unit = ifCached(session)(TableCaches.renew(_, table))

  def renewCaches(session: SparkSession, table: JavaList[String]): Unit = renewCaches(session, table.asScala.toSeq)

  private def ifCached(session: SparkSession)(change: classic.SparkSession => Unit): Unit = {
    val own = session.asInstanceOf[classic.SparkSession]
    if (!own.sharedState.cacheManager.isEmpty) change(own)
  }

  /** Store assignment of one value, in which structs go by the names of their fields. Absent fields are an error; with
    * `fills` they are null. */
  def resolveUpdate(table: String, value: Expression, column: Attribute, path: Seq[String], fills: Boolean): Expression = {
    val errors = mutable.ArrayBuffer.empty[String]
    val resolved = UpdateAssignment.resolve(table, value, column, path, fills, errors += _)
    if (errors.nonEmpty) throw QueryCompilationErrors.incompatibleDataToTableCannotFindDataError(table, path.mkString("."))
    resolved
  }

  /** The parts of a name with its catalog, and the table. */
  def tableNamed(name: String): (Seq[String], Table) = {
    val state = classic.SparkSession.active.sessionState
    val parts = state.sqlParser.parseMultipartIdentifier(name)
    parts -> state.catalogManager.catalog(parts.head).asInstanceOf[TableCatalog]
      .loadTable(Identifier.of(parts.slice(1, parts.length - 1).toArray, parts.last))
  }

  /** A setting by which Python marks a session that has a transaction. */
  val transactionOf = "spark.sqlext.transaction-of"

  /** What tells the session that is at work from others of the application. Spark runs the queries that it caches in
    * clones of a session, which are in its transaction: they have its settings. */
  def sessionId: String = idOf(classic.SparkSession.active)

  def idOf(session: classic.SparkSession): String =
    session.sessionState.conf.getConfString(transactionOf, session.sessionUUID)

  def struct(columns: Array[Column]): StructType = CatalogV2Util.v2ColumnsToStructType(columns)

  def translateFilter(condition: Expression): Option[Predicate] = DataSourceV2Strategy.translateFilterV2(condition)

  /** The older form of a predicate, which Spark's Parquet reader takes. Only where all of it has one: Spark leaves
    * out a side of OR that has none, and the rest would select too few rows. */
  def filterOf(predicate: Predicate): Option[Filter] = if (hasOlderForm(predicate)) PredicateUtils.toV1(predicate) else None

  private def hasOlderForm(predicate: Predicate): Boolean = predicate match {
    case and: And => hasOlderForm(and.left) && hasOlderForm(and.right)
    case or: Or => hasOlderForm(or.left) && hasOlderForm(or.right)
    case not: Not => hasOlderForm(not.child)
    case one => PredicateUtils.toV1(one).isDefined
  }

  /** All that the catalog interface is given of a table beside its columns and partitioning. */
  def tableProperties(spec: TableSpec): Map[String, String] = CatalogV2Util.convertTableProperties(spec)

  def asNullable(dataType: DataType): DataType = dataType.asNullable

  /** The type with those types in it, at any depth, replaced that `by` is defined for. */
  def replaced(dataType: DataType)(by: PartialFunction[DataType, DataType]): DataType = dataType.transformRecursively(by)

  def holds(dataType: DataType)(is: DataType => Boolean): Boolean = dataType.existsRecursively(is)

  def extraFields(table: String, path: Seq[String], fields: Seq[String]): Throwable =
    QueryCompilationErrors.incompatibleDataToTableExtraStructFieldsError(table, path.mkString("."), fields.mkString(", "))

  def defaultInExpression(): Throwable = QueryCompilationErrors.defaultReferencesNotAllowedInComplexExpressionsInInsertValuesList()

  /** The error of Spark's own file sources, with its condition and the file's path, and of a class that Spark's
    * Python API shows without the stack. */
  def readFailure(path: String, failure: Throwable): Throwable = failure match {
    case _: FileNotFoundException => SqlextException.fileNotFound(path)
    case other =>
      val named = try FileDataSourceV2.attachFilePath(path, other) catch { case NonFatal(attached) => attached }
      named match {
        case error: SparkException if error.getCondition != null =>
          new SparkRuntimeException(error.getCondition, error.getMessageParameters.asScala.toMap, error)
        case error => error
      }
  }
}

private class RefusedRows(context: SparkContext, error: Exception) extends RDD[InternalRow](context, Nil) {
  override protected def getPartitions: Array[Partition] = throw error
  override def compute(split: Partition, task: TaskContext): Iterator[InternalRow] = throw error
}
