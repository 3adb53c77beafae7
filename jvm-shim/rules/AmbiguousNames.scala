/* Columns or nested fields whose names are one name where case has no meaning, and values that come by that name:
 * Spark's store assignment puts such a value into all of them. */
package io.sqlext

import java.util.Locale

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

object AmbiguousNames {
  /** Raises AnalysisException AMBIGUOUS_REFERENCE where a field of `given` has the name of two fields of `column`,
    * the type that it is put into by name; `path` leads to both. */
  def refuse(given: DataType, column: DataType, path: Seq[String] = Nil): Unit = (given, column) match {
    case (values: StructType, fields: StructType) =>
      for (value <- values) {
        fields.filter(field => SQLConf.get.resolver(field.name, value.name)) match {
          case Seq(field) => refuse(value.dataType, field.dataType, path :+ field.name)
          case Seq() =>
          case several => throw new AnalysisException("AMBIGUOUS_REFERENCE", Map(
            "name" -> quoted(path :+ value.name),
            "referenceNames" -> several.map(field => quoted(path :+ field.name)).mkString("[", ", ", "]")))
        }
      }
    case (values: ArrayType, elements: ArrayType) => refuse(values.elementType, elements.elementType, path :+ "element")
    case (values: MapType, entries: MapType) =>
      refuse(values.keyType, entries.keyType, path :+ "key")
      refuse(values.valueType, entries.valueType, path :+ "value")
    case _ =>
  }

  /** Whether two columns, or two fields of a struct, have names that differ in case alone. */
  def hasAlike(dataType: DataType): Boolean = dataType match {
    case fields: StructType =>
      fields.map(_.name.toLowerCase(Locale.ROOT)).distinct.size < fields.size || fields.exists(field => hasAlike(field.dataType))
    case elements: ArrayType => hasAlike(elements.elementType)
    case entries: MapType => hasAlike(entries.keyType) || hasAlike(entries.valueType)
    case _ => false
  }

  private def quoted(path: Seq[String]): String = path.map(name => s"`${name.replace("`", "``")}`").mkString(".")
}
