/* A session that was started without the shim gets its parser, rules and functions while it lives. Spark reads them when
 * it makes a session's state, so such a session gets a new state, a copy of its own. */
package org.apache.spark.sql.sqlext

import io.sqlext.{Extensions, NewestVersions}
import org.apache.spark.sql.{SparkSession, classic}
import org.apache.spark.sql.internal.SessionState

object LiveSession {
  /** Whether the session has what `Extensions` injects: a query without it would also give deleted rows. */
  def isWhole(session: SparkSession): Boolean = stateOf(session).planNormalizationRules.contains(NewestVersions)

  /** Running queries of a session, which its new state would not know. */
  def runningStreams(session: SparkSession): Array[String] =
    stateOf(session).streamingQueryManager.active.map(query => Option(query.name).getOrElse(query.id.toString))

  /** Gives the session a state with the shim's extensions. Settings, temporary views, functions and listeners stay; the
    * object that holds the settings is the same one, since PySpark keeps it. Sessions made of this one have them too. */
  def makeWhole(session: SparkSession): Unit = {
    val own = session.asInstanceOf[classic.SparkSession]
    val before = own.sessionState
    new Extensions().apply(own.extensions)
    // A copy has the functions of what it is made of, and none that are injected.
    own.extensions.registerFunctions(before.functionRegistry)
    own.extensions.registerTableFunctions(before.tableFunctionRegistry)
    val after = before.clone(own)
    set(classOf[SessionState], after, "conf", before.conf)
    after.catalogManager.setCurrentCatalog(before.catalogManager.currentCatalog.name)
    after.catalogManager.setCurrentNamespace(before.catalogManager.currentNamespace)
    set(classOf[classic.SparkSession], own, "sessionState", after)
  }

  private def stateOf(session: SparkSession): SessionState = session.asInstanceOf[classic.SparkSession].sessionState

  private def set(owner: Class[_], of: AnyRef, name: String, value: AnyRef): Unit = {
    val field = owner.getDeclaredField(name)
    field.setAccessible(true)
    field.set(of, value)
  }
}
