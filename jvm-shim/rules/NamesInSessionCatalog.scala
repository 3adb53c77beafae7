/* Names that Spark gives in its session catalog: none that a table of sqlext has there. Spark's own commands look only
 * among Spark's names, so that the new table or view would hide sqlext's, or be hidden by it. */
package io.sqlext

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.PersistedView
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.SaveMode
import org.apache.spark.sql.execution.command.{
  AlterTableRenameCommand, CreateDataSourceTableAsSelectCommand, CreateDataSourceTableCommand, CreateTableCommand,
  CreateTableLikeCommand, CreateViewCommand}
import org.apache.spark.sql.sqlext.SparkInternals

object NamesInSessionCatalog extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case create: CreateDataSourceTableCommand => free(plan, create.table.identifier, create.ignoreIfExists)
    case create: CreateDataSourceTableAsSelectCommand => free(plan, create.table.identifier, create.mode == SaveMode.Ignore)
    case create: CreateTableCommand => free(plan, create.table.identifier, create.ignoreIfExists)
    case like: CreateTableLikeCommand => free(plan, like.targetTable, like.ifNotExists)
    case view: CreateViewCommand if view.viewType == PersistedView => free(plan, view.name, view.allowExisting)
    case rename: AlterTableRenameCommand => free(plan, rename.newName, ignores = false)
    case other => other
  }

  /** The plan; in its place one that does nothing, where it `ignores` that the name is taken. */
  private def free(plan: LogicalPlan, name: TableIdentifier, ignores: Boolean): LogicalPlan = {
    val state = SparkInternals.activeSession.sessionState
    val database = name.database.getOrElse(state.catalog.getCurrentDatabase)
    if (!Parser.catalogsOf(state.conf).contains(SessionCatalog.name) ||
        !Catalog.holds(Seq(SessionCatalog.name, database, name.table))) plan
    else if (ignores) LocalRelation(Nil)
    else throw Bridge.refusal("refuse taken name", Map("name" -> Seq(SessionCatalog.name, database, name.table)))
  }
}
