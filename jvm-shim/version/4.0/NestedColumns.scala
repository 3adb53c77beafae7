/* Spark 4.0: its Parquet reader takes a struct for null of which a file has no field that is read, and reads no file that
 * has a VARIANT. */
package io.sqlext

import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.types.{StructType, VariantType}

import scala.jdk.CollectionConverters._

object NestedColumns {
  /** The columns that a scan reads where Spark asks for `required`: columns with structs that got fields later are read
    * whole, with the fields that all files have. Those without such fields are refused. */
  def read(table: SqlextTable, required: StructType): StructType = {
    if (SparkInternals.holds(table.schema)(_ == VariantType)) refuse(table, "variant", "")
    if (!required.exists(field => SparkInternals.holds(field.dataType)(_.isInstanceOf[StructType]))) required
    else {
      val evolved = Bridge.askOnce("evolved structs", Map("table" -> table.handle))
      def named(key: String): Set[String] = evolved.get(key).elements.asScala.map(_.asText).toSet
      val (grown, renewed) = (named("grown"), named("renewed"))
      required.map(_.name).find(renewed).foreach(refuse(table, "struct", _))
      StructType(required.map(field => if (grown(field.name)) table.schema(field.name) else field))
    }
  }

  private def refuse(table: SqlextTable, kind: String, column: String): Unit =
    Bridge.ask("refuse nested column", Map("kind" -> kind, "name" -> table.name, "column" -> column))
}
