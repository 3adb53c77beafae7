/* `sqlext_merged_elements(stored, rows, key, sequence, limit, by_field)`, a scalar function of Spark: the elements of
 * arrays of structs, or the entries of maps, merged by the fields of a key, for tables whose merge engine has such.
 *
 * As SQL it would be an `aggregate` that looks for each element among all others: 5,000 elements took 18 s. Here they
 * are in a hash map, which keeps the order in which they came. */
package io.sqlext

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.sqlext.NormalizedFloats
import org.apache.spark.sql.types._

/** `stored` is an array of structs, `rows` are structs of `t`, whether they take elements back, and such an array, in
  * their order. `key` and `sequence` are ordinals of fields: of elements with equal keys the last one stays, or the
  * last of those with the greatest sequence; with `byField` one element that has the last value of each field that is
  * not null. An element with a new key comes in while there are fewer than `limit`. What changes goes to the end.
  * Without any element that is added, of `stored` null, the result is null. Null elements are left out. */
case class MergedElements(
    stored: Expression, rows: Expression, key: Seq[Int], sequence: Seq[Int], limit: Int, byField: Boolean)
    extends BinaryExpression with CodegenFallback {
  override def left: Expression = stored
  override def right: Expression = rows
  override def dataType: DataType = stored.dataType
  override def nullable: Boolean = true
  override def prettyName: String = "sqlext_merged_elements"

  private lazy val fields = dataType.asInstanceOf[ArrayType].elementType.asInstanceOf[StructType].fields

  @transient private lazy val keyOf = UnsafeProjection.create(key.map { ordinal =>
    NormalizedFloats.of(BoundReference(ordinal, fields(ordinal).dataType, nullable = true))
  })

  @transient private lazy val later = new InterpretedOrdering(sequence.map { ordinal =>
    SortOrder(BoundReference(ordinal, fields(ordinal).dataType, nullable = true), Ascending)
  })

  override def eval(input: InternalRow): Any = {
    // Another engine may have stored several elements of a key.
    val elements = new util.LinkedHashMap[UnsafeRow, List[InternalRow]]()
    val first = stored.eval(input).asInstanceOf[ArrayData]
    var isThere = first != null
    if (isThere) each(first) { (of, element) => elements.put(of, elements.getOrDefault(of, Nil) :+ element) }
    val all = rows.eval(input).asInstanceOf[ArrayData]
    for (n <- 0 until all.numElements) {
      val row = all.getStruct(n, 2)
      val value = row.getArray(1)
      if (!row.getBoolean(0)) {
        isThere = true
        each(value)(add(elements, _, _))
      } else if (isThere) each(value) { (of, _) => elements.remove(of) }
    }
    if (isThere) new GenericArrayData(elements.values.asScala.flatten.toArray[Any]) else null
  }

  private def add(elements: util.LinkedHashMap[UnsafeRow, List[InternalRow]], of: UnsafeRow, element: InternalRow): Unit = {
    val same = elements.getOrDefault(of, Nil)
    val mayStay = if (same.isEmpty) elements.size < limit else !same.exists(later.compare(_, element) > 0)
    if (mayStay) {
      elements.remove(of)
      elements.put(of, List(if (byField) same.foldLeft(element)(filled) else element))
    }
  }

  /** The element, where its nulls are the values of the other one. */
  private def filled(element: InternalRow, other: InternalRow): InternalRow =
    new GenericInternalRow(fields.indices.map { n =>
      (if (element.isNullAt(n)) other else element).get(n, fields(n).dataType)
    }.toArray[Any])

  private def each(array: ArrayData)(take: (UnsafeRow, InternalRow) => Unit): Unit =
    for (n <- 0 until array.numElements if !array.isNullAt(n)) {
      val element = array.getStruct(n, fields.length)
      take(keyOf(element).copy(), element)
    }

  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): Expression =
    copy(stored = newLeft, rows = newRight)
}

object MergedElements {
  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => Expression) = (
    FunctionIdentifier("sqlext_merged_elements"),
    new ExpressionInfo(classOf[MergedElements].getName, "sqlext_merged_elements"),
    { case Seq(stored, rows, key, sequence, limit, byField) =>
      MergedElements(stored, rows, ordinals(key), ordinals(sequence), limit.eval().asInstanceOf[Int],
        byField.eval().asInstanceOf[Boolean])
    })

  private def ordinals(text: Expression): Seq[Int] =
    text.eval().toString.split(",").filter(_.nonEmpty).map(_.toInt).toSeq
}
