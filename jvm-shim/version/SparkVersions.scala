/* What one minor version of Spark has, and another lacks or has with other parameters: it is called by reflection, so
 * that the shim compiles against each of them. */
package org.apache.spark.sql.sqlext

import java.lang.reflect.InvocationTargetException

import org.apache.spark.sql.catalyst.analysis.TableOutputResolver
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic
import org.apache.spark.sql.errors.QueryCompilationErrors
import org.apache.spark.sql.internal.SQLConf

import scala.collection.mutable
import scala.util.control.NonFatal

object SparkVersions {
  /** The text of a statement with Spark's own literals in place of its parameters, which Spark has as a class from
    * 4.1 on. */
  def substituteParameters(text: String, parameters: AnyRef): String = {
    val handler = Class.forName("org.apache.spark.sql.catalyst.parser.ParameterHandler")
    val substitute = handler.getMethods.find(_.getName == "substituteParameters").get
    try substitute.invoke(null, text, parameters).asInstanceOf[(String, Any)]._1
    catch { case failure: InvocationTargetException => throw failure.getCause }
  }

  /** Caches of the table, by the parts of its name, and of queries on it are to be made anew when they are next
    * used; they are dropped where one cannot be. Spark 4.0 has no way to do so: there they are of no more use. */
  def renewCaches(table: Seq[String]): Unit = {
    val session = classic.SparkSession.active
    val caches = session.sharedState.cacheManager
    if (!caches.isEmpty) caches.getClass.getMethods.find(_.getName == "recacheTableOrView").foreach { method =>
      try method.invoke(caches, session, table, Boolean.box(false))
      catch {
        case failure: InvocationTargetException if NonFatal(failure.getCause) =>
          caches.uncacheTableOrView(session, table, cascade = true, blocking = false)
      }
    }
  }

  /** Store assignment of whole rows; by name, a column that is not there is null. The last parameter is a Boolean
    * up to Spark 4.1, and one of three modes after it. */
  def resolveOutputColumns(table: String, expected: Seq[Attribute], query: LogicalPlan, byName: Boolean): LogicalPlan = {
    val method = TableOutputResolver.getClass.getMethods.find(_.getName == "resolveOutputColumns").get
    val fill = if (method.getParameterTypes.last == classOf[Boolean]) Boolean.box(byName) else fillMode(if (byName) "FILL" else "NONE")
    try method.invoke(TableOutputResolver, table, expected, query, Boolean.box(byName), SQLConf.get, fill).asInstanceOf[LogicalPlan]
    catch { case failure: InvocationTargetException => throw failure.getCause }
  }

  /** Store assignment of one value, in which structs go by the names of their fields. Absent fields are an error; with
    * `fills` they are null. Spark 4.0 has no way to say what fills them. */
  def resolveUpdate(table: String, value: Expression, column: Attribute, path: Seq[String], fills: Boolean): Expression = {
    val method = TableOutputResolver.getClass.getMethods.find(_.getName == "resolveUpdate").get
    val errors = mutable.ArrayBuffer.empty[String]
    val addError: String => Unit = errors += _
    val given = Seq[AnyRef](table, value, column, SQLConf.get, addError, path)
    val fill = if (method.getParameterCount > given.length) Seq(fillMode(if (fills) "RECURSE" else "NONE")) else Nil
    val resolved =
      try method.invoke(TableOutputResolver, given ++ fill: _*).asInstanceOf[Expression]
      catch { case failure: InvocationTargetException => throw failure.getCause }
    if (errors.nonEmpty) throw QueryCompilationErrors.incompatibleDataToTableCannotFindDataError(table, path.mkString("."))
    resolved
  }

  private def fillMode(name: String): AnyRef = {
    val modes = Class.forName(TableOutputResolver.getClass.getName + "DefaultValueFillMode$")
    modes.getMethod(name).invoke(modes.getField("MODULE$").get(null))
  }
}
