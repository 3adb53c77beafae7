package io.sqlext

import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan}
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.types.{DataType, StructType}

/** Spark's own rules for putting a value into a column: which casts are allowed, and which overflow is an error.
  *
  * Nulls are let through: the writer refuses them with the column's name. */
object StoreAssignment {

  /** `sqlext_assign(value, 'column', 'type'[, 'table', 'field', …])`: the value as the column takes it, or the field
    * that the names lead to from it. Structs inside go by the names of their fields, as in Spark's UPDATE and MERGE. */
  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_assign"),
    new ExpressionInfo(classOf[Expression].getName, "sqlext_assign"),
    {
      case Seq(value, column, dataType, rest @ _*) =>
        val table = rest.headOption.map(text).getOrElse("target")
        val path = text(column) +: rest.drop(1).map(text)
        RowExpressions.requireOneRow(value, path.mkString("."))
        assign(value, path, DataType.fromDDL(text(dataType)), table)
    })

  private def text(literal: Expression): String = literal.eval().toString

  private def assign(value: Expression, path: Seq[String], dataType: DataType, table: String): Expression = {
    val column = AttributeReference(path.last, SparkInternals.asNullable(dataType), nullable = true)()
    val unassigned = AttributeReference(path.last, value.dataType, value.nullable)()
    SparkInternals.resolveUpdate(table, unassigned, column, path)
      .transform { case a: Attribute if a.exprId == unassigned.exprId => value }
  }

  /** The rows in the columns, order and types of `schema`; missing columns by name have their default. */
  def align(rows: DataFrame, table: String, schema: String, byName: Boolean): DataFrame = {
    val session = rows.sparkSession.asInstanceOf[classic.SparkSession]
    val plan = rows.asInstanceOf[classic.Dataset[_]].queryExecution.analyzed
    val struct = DataType.fromJson(schema).asInstanceOf[StructType]
    SparkInternals.ofRows(session, resolve(table, FieldIds.without(struct), plan, byName))
  }

  private def resolve(table: String, schema: StructType, query: LogicalPlan, byName: Boolean): LogicalPlan = {
    val expected = schema.map(f => AttributeReference(f.name, SparkInternals.asNullable(f.dataType), nullable = true, f.metadata)())
    SparkInternals.resolveOutputColumns(table, expected, query, byName)
  }
}
