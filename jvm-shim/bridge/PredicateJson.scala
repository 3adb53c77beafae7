/* Spark's predicates for data sources (connector.expressions.filter) as JSON for Python: ["=", column, value], ["and",
 * one, another, …]. A column is its name by parts, or a partition transform of one: {"transform": "bucket", "number":
 * 8, "column": [...]}. What has no form is left out. */
package io.sqlext

import java.util.Base64

import scala.collection.mutable

import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference, UserDefinedScalarFunc}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

object PredicateJson {
  /** So many changes between AND, OR and NOT a predicate may have; what lies deeper has no form. */
  private val deepest = 20

  def encode(predicate: Predicate): Option[Seq[Any]] = encode(predicate, 0)

  private def encode(predicate: Predicate, depth: Int): Option[Seq[Any]] = {
    val children = predicate.children.toSeq
    (predicate.name, children) match {
      case ("ALWAYS_TRUE", _) => Some(Seq("true"))
      case ("ALWAYS_FALSE", _) => Some(Seq("false"))
      case ("AND" | "OR" | "NOT", _) if depth >= deepest => None
      case ("AND", _) => operands(predicate).flatMap(encode(_, depth + 1)) match {
        case Seq() => None
        case Seq(one) => Some(one)
        case several => Some("and" +: several)
      }
      case ("OR", _) =>
        val all = operands(predicate).map(encode(_, depth + 1))
        if (all.forall(_.isDefined)) Some("or" +: all.flatten) else None
      case ("NOT", Seq(inner: Predicate)) if isExact(inner, depth + 1) => encode(inner, depth + 1).map(Seq("not", _))
      case ("IS_NULL", Seq(literal: Literal[_])) => Some(Seq((literal.value == null).toString))
      case ("IS_NOT_NULL", Seq(literal: Literal[_])) => Some(Seq((literal.value != null).toString))
      case ("IS_NULL", Seq(one)) => column(one).map(Seq("is null", _))
      case ("IS_NOT_NULL", Seq(one)) => column(one).map(Seq("not null", _))
      case ("STARTS_WITH", Seq(one, prefix)) => for (c <- column(one); p <- value(prefix)) yield Seq("starts with", c, p)
      case ("IN", one +: listed) =>
        val values = listed.map(value)
        column(one).filter(_ => values.forall(_.isDefined)).map(Seq("in", _, values.flatten))
      case ("<>", Seq(_, _)) => comparison("=", children).map(Seq("not", _))
      case ("<=>", Seq(l, r)) => Seq(l, r).partition(isNull) match {
        case (Seq(_), Seq(one)) => column(one).map(Seq("is null", _))
        case _ => // false of null
          comparison("=", children).map(equal => Seq("and", Seq("not null", equal(1)), equal))
      }
      case (operator @ ("=" | "<" | "<=" | ">" | ">="), Seq(_, _)) => comparison(operator, children)
      case _ => None
    }
  }

  /** The predicate, if it has a form that selects just the same rows. */
  def encodeExactly(predicate: Predicate): Option[Seq[Any]] = if (isExact(predicate, 0)) encode(predicate) else None

  /** A negation may only stand over what `encode` renders without weakening it. */
  private def isExact(predicate: Predicate, depth: Int): Boolean = (predicate.name, predicate.children.toSeq) match {
    case ("AND" | "OR" | "NOT", _) if depth >= deepest => false
    case ("AND" | "OR", _) => operands(predicate).forall(isExact(_, depth + 1))
    case ("NOT", Seq(inner: Predicate)) => isExact(inner, depth + 1)
    case _ => encode(predicate, depth).isDefined
  }

  /** Of a chain of one operator, however it is nested, all that it joins. */
  private def operands(chain: Predicate): Seq[Predicate] = {
    val found = Seq.newBuilder[Predicate]
    val left = mutable.Stack[Predicate](chain)
    while (left.nonEmpty) {
      val one = left.pop()
      val joined = one.children.toSeq.collect { case p: Predicate => p }
      if (one.name == chain.name && joined.size == one.children.length) left.pushAll(joined.reverse) else found += one
    }
    found.result()
  }

  private val flipped = Map("=" -> "=", "<" -> ">", "<=" -> ">=", ">" -> "<", ">=" -> "<=")

  private def comparison(operator: String, sides: Seq[Expression]): Option[Seq[Any]] = {
    def of(operator: String, one: Expression, literal: Expression) =
      for (c <- column(one); v <- value(literal)) yield Seq(operator, c, v)
    of(operator, sides(0), sides(1)).orElse(of(flipped(operator), sides(1), sides(0)))
  }

  private def column(expression: Expression): Option[Any] = expression match {
    case reference: NamedReference => Some(reference.fieldNames.toSeq)
    case function: UserDefinedScalarFunc if TransformFunction.isOurs(function.canonicalName) =>
      function.children.toSeq match {
        case Seq(reference: NamedReference) => Some(transform(function.name, None, reference))
        case Seq(number: Literal[_], reference: NamedReference) => value(number).map(n => transform(function.name, Some(n), reference))
        case _ => None
      }
    case _ => None
  }

  /** Whether no text in it has bytes that are no UTF-8. Spark's filters of files, and JSON, have strings, in which such
    * bytes are those of another text. */
  private[sqlext] def hasTextsAsStrings(expression: Expression): Boolean = expression match {
    case literal: Literal[_] => literal.value match { case text: UTF8String => text.isValid; case _ => true }
    case other => other.children.forall(hasTextsAsStrings)
  }

  private def transform(name: String, number: Option[Any], column: NamedReference): Any =
    Map("transform" -> name, "number" -> number, "column" -> column.fieldNames.toSeq)

  private def isNull(expression: Expression): Boolean = expression match {
    case literal: Literal[_] => literal.value == null
    case _ => false
  }

  private def value(expression: Expression): Option[Any] = expression match {
    case literal: Literal[_] => Option(literal.value).flatMap(encoded)
    case _ => None
  }

  private def encoded(value: Any): Option[Any] = value match {
    case text: UTF8String => Option.when(text.isValid)(text.toString)
    case number: Decimal => Some(Map("decimal" -> number.toJavaBigDecimal.toPlainString))
    case bytes: Array[Byte] => Some(Map("binary" -> Base64.getEncoder.encodeToString(bytes)))
    case number: Float => encoded(number.toDouble) // its decimal digits are those of another double
    case number: Double if number.isNaN || number.isInfinite => Some(Map("float" -> number.toString))
    case other @ (_: Boolean | _: Byte | _: Short | _: Int | _: Long | _: Double) => Some(other)
    case _ => None
  }
}
