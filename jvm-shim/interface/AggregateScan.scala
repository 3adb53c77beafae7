/* Spark's LocalScan for an aggregation that Python answers from metadata (SupportsPushDownAggregates), and its
 * ColumnStatistics for the cost-based optimiser. */
package io.sqlext

import java.util
import java.util.{Optional, OptionalLong}

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.{Expression, NamedReference}
import org.apache.spark.sql.connector.expressions.aggregate._
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.LocalScan
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics
import org.apache.spark.sql.types._

import scala.jdk.CollectionConverters._

/** The answer to an aggregation, which Python found in metadata. */
case class AggregateScan(readSchema: StructType, rows: Array[InternalRow], override val description: String) extends LocalScan

object AggregateScan {
  /** None where metadata does not tell. */
  def answering(table: SqlextTable, filters: Seq[Predicate], wanted: Aggregation): Option[AggregateScan] = {
    def column(expression: Expression): Option[String] = expression match {
      case reference: NamedReference => Some(reference.fieldNames).filter(_.length == 1).map(_.head).filter(table.schema.fieldNames.contains(_))
      case _ => None
    }
    val groups = wanted.groupByExpressions.toSeq.map(column)
    val functions = wanted.aggregateExpressions.toSeq.map {
      case _: CountStar => Some("count" -> None)
      case count: Count if !count.isDistinct => column(count.column).map(name => "count" -> Some(name))
      case min: Min => column(min.column).map(name => "min" -> Some(name))
      case max: Max => column(max.column).map(name => "max" -> Some(name))
      case _ => None
    }
    val encoded = filters.map(PredicateJson.encodeExactly)
    if ((groups ++ functions ++ encoded).exists(_.isEmpty)) None
    else {
      val grouped = groups.flatten.map(table.schema(_))
      val results = functions.flatten.map {
        case ("count", name) => StructField(s"count(${name.getOrElse("*")})", LongType)
        case (function, Some(name)) => StructField(s"$function($name)", table.schema(name).dataType)
        case other => throw new IllegalStateException(other.toString)
      }
      val answer = Bridge.askOnce("aggregate", Map("table" -> table.handle, "filters" -> encoded.flatten, "groups" -> groups.flatten,
        "functions" -> functions.flatten.map { case (function, name) => Seq(function, name.orNull) })).get("rows")
      if (answer.isNull) None
      else {
        val schema = StructType(grouped ++ results)
        val rows = answer.elements.asScala.map(row =>
          InternalRow.fromSeq(schema.fields.toSeq.zipWithIndex.map { case (f, i) => JsonValue.decode(row.get(i), f.dataType) })).toArray
        Some(AggregateScan(schema, rows, s"sqlext ${table.name} [from metadata: ${results.map(_.name).mkString(", ")}]"))
      }
    }
  }
}

/** What metadata tells about columns, for the cost-based optimizer. */
object ColumnFigures {
  def of(table: SqlextTable, columns: StructType): util.Map[NamedReference, ColumnStatistics] =
    if (table.role.isInstanceOf[EqualityDeletes]) new util.HashMap()
    else Bridge.askOnce("column statistics", Map("table" -> table.handle))
      .get("columns").properties.asScala.filter(c => columns.exists(f => f.name == c.getKey && isEstimated(f.dataType)))
      .map(c => Grouping.reference(c.getKey) -> figures(c.getValue, columns(c.getKey).dataType)).toMap[NamedReference, ColumnStatistics].asJava

  /** Spark fails as it estimates a condition or a join by the least and largest of these. */
  private def isEstimated(dataType: DataType): Boolean = dataType != TimestampNTZType

  private def figures(node: JsonNode, dataType: DataType): ColumnStatistics = new ColumnStatistics {
    override def distinctCount: OptionalLong = long("distinct")
    override def nullCount: OptionalLong = long("nulls")
    override def min: Optional[Object] = value("min")
    override def max: Optional[Object] = value("max")
    private def long(name: String): OptionalLong = if (node.hasNonNull(name)) OptionalLong.of(node.get(name).asLong) else OptionalLong.empty
    private def value(name: String): Optional[Object] =
      if (node.hasNonNull(name)) Optional.of(JsonValue.decode(node.get(name), dataType).asInstanceOf[Object]) else Optional.empty
  }
}
