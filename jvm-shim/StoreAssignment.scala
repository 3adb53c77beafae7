package io.sqlext

import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference, Expression, ExpressionInfo, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.types.{DataType, StructType}

/** Spark's own rules for putting a value into a column: which casts are allowed, and which overflow is an error.
  *
  * Nulls are let through: the writer refuses them with the column's name. */
object StoreAssignment {

  /** `sqlext_assign(value, 'column', 'type')`: the value as the column takes it. */
  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_assign"),
    new ExpressionInfo(classOf[Expression].getName, "sqlext_assign"),
    {
      case Seq(value, column, dataType) => assign(value, text(column), DataType.fromDDL(text(dataType)))
      case Seq(value, column, dataType, table) => assign(value, text(column), DataType.fromDDL(text(dataType)), text(table))
    })

  private def text(literal: Expression): String = literal.eval().toString

  private def assign(value: Expression, column: String, dataType: DataType, table: String = "target"): Expression = {
    val unassigned = AttributeReference(column, value.dataType, value.nullable)()
    resolve(table, StructType(Nil).add(column, dataType), LocalRelation(unassigned), byName = false) match {
      case Project(Seq(assigned), _) => unalias(assigned).transform { case a: Attribute if a.exprId == unassigned.exprId => value }
      case _ => value
    }
  }

  private def unalias(named: NamedExpression): Expression = named match {
    case a: Alias => a.child
    case other => other
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
