/* DESCRIBE of a table, a command of Spark's that is wrapped: what Spark says of it, and behind columns and
 * partitioning its constraints, as Python tells them. */
package io.sqlext

import org.apache.spark.sql.{Row, SparkSession, classic}
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{DescribeRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.sqlext.{DescribedRelation, SparkInternals}

import scala.jdk.CollectionConverters._

case class DescribedTable(described: DescribeRelation, handle: String) extends LeafRunnableCommand {
  override def output: Seq[Attribute] = described.output

  override def run(session: SparkSession): Seq[Row] = {
    val rows = SparkInternals.ofRows(session.asInstanceOf[classic.SparkSession], described).collect().toSeq
    val (columns, more) = rows.span(row => row.getString(0).nonEmpty)
    val constraints = Bridge.ask("describe constraints", Map("table" -> handle)).get("rows").elements.asScala.map { row =>
      Row.fromSeq(row.elements.asScala.map(_.asText).toSeq)
    }
    columns ++ constraints ++ more
  }
}

object DescribedTable extends Rule[LogicalPlan] {
  /** On a plan that Spark itself answers. */
  private val sparks = TreeNodeTag[Unit]("sqlext.described_by_spark")

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case d @ DescribedRelation(ResolvedTable(_: Catalog, _, table: SqlextTable, _))
        if !table.isMetadataTable && d.getTagValue(sparks).isEmpty =>
      val own = d.copy()
      own.setTagValue(sparks, ())
      DescribedTable(own, table.handle)
    case other => other
  }
}
