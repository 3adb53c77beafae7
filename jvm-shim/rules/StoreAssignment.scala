/* Spark's own rules for putting a value into a column (TableOutputResolver), as functions of the SQL that stands in
 * for a statement: which casts are allowed, and which overflow is an error.
 *
 * Nulls are let through: the writer refuses them with the column's name. */
package io.sqlext

import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.{RowAssignment, SparkInternals}
import org.apache.spark.sql.types.{DataType, NullType, StructType}

object StoreAssignment {

  /** `sqlext_assign(value, 'column', 'type'[, 'table', 'field', …])`: the value as the column takes it, or the field
    * that the names lead to from it. Structs inside go by the names of their fields, as in Spark's UPDATE and MERGE. */
  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_assign"),
    new ExpressionInfo(classOf[Expression].getName, "sqlext_assign"),
    {
      case Seq(value, column, dataType, rest @ _*) => assigned(value, Literal(null), fills = false, column, dataType, rest)
    })

  /** `sqlext_assign_part(value, kept, fills, 'column', 'type'[, 'table', 'field', …])`: the same, where structs of the
    * value may lack fields. They are those of `kept`, a value of the column's type; or null, where `fills` is true. */
  val partFunction: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_assign_part"),
    new ExpressionInfo(classOf[Expression].getName, "sqlext_assign_part"),
    {
      case Seq(value, kept, fills, column, dataType, rest @ _*) =>
        assigned(value, kept, fills == Literal.TrueLiteral, column, dataType, rest)
    })

  private def assigned(value: Expression, kept: Expression, fills: Boolean, column: Expression, dataType: Expression,
      rest: Seq[Expression]): Expression = {
    val path = text(column) +: rest.drop(1).map(text)
    RowExpressions.requireOneRow(value, path.mkString("."))
    val target = DataType.fromDDL(text(dataType))
    AmbiguousNames.refuse(value.dataType, target, path)
    new Assignment(rest.headOption.map(text).getOrElse("target"), fills).of(value, kept, path, target)
  }

  private def text(literal: Expression): String = literal.eval().toString

  private class Assignment(table: String, fills: Boolean) {
    private val resolver = SQLConf.get.resolver

    def of(value: Expression, kept: Expression, path: Seq[String], dataType: DataType): Expression =
      (value.dataType, dataType) match {
        case (given: StructType, column: StructType) if kept.dataType != NullType && lacks(given, column) =>
          val more = given.filterNot(field => column.exists(f => resolver(f.name, field.name)))
          if (more.nonEmpty) throw SparkInternals.extraFields(table, path, more.map(_.name))
          val fields = column.zipWithIndex.flatMap { case (field, i) =>
            val own = GetStructField(kept, i)
            val assigned = given.indexWhere(f => resolver(f.name, field.name)) match {
              case -1 => own
              case j => of(GetStructField(value, j), own, path :+ field.name, field.dataType)
            }
            Seq(Literal(field.name), assigned)
          }
          val struct = CreateNamedStruct(fields)
          If(And(IsNull(value), IsNull(kept)), Literal(null, struct.dataType), struct)
        case _ => whole(value, path, dataType)
      }

    private def whole(value: Expression, path: Seq[String], dataType: DataType): Expression = {
      val column = AttributeReference(path.last, SparkInternals.asNullable(dataType), nullable = true)()
      val unassigned = AttributeReference(path.last, value.dataType, value.nullable)()
      SparkInternals.resolveUpdate(table, unassigned, column, path, fills)
        .transform { case a: Attribute if a.exprId == unassigned.exprId => value }
    }

    private def lacks(given: StructType, column: StructType): Boolean = column.exists { field =>
      given.find(f => resolver(f.name, field.name)).map(_.dataType) match {
        case None => true
        case Some(inner: StructType) => field.dataType match {
          case deeper: StructType => lacks(inner, deeper)
          case _ => false
        }
        case Some(_) => false
      }
    }
  }

  /** The rows in the columns, order and types of `schema`; missing columns by name have their default. */
  def align(rows: DataFrame, table: String, schema: String, byName: Boolean): DataFrame = {
    val session = rows.sparkSession.asInstanceOf[classic.SparkSession]
    val plan = rows.asInstanceOf[classic.Dataset[_]].queryExecution.analyzed
    val struct = DataType.fromJson(schema).asInstanceOf[StructType]
    SparkInternals.ofRows(session, resolve(table, FieldIds.without(struct), plan, byName))
  }

  private def resolve(table: String, schema: StructType, query: LogicalPlan, byName: Boolean): LogicalPlan = {
    if (byName) AmbiguousNames.refuse(query.schema, schema)
    val expected = schema.map(f => AttributeReference(f.name, SparkInternals.asNullable(f.dataType), nullable = true, f.metadata)())
    RowAssignment.resolve(table, expected, query, byName)
  }
}
