/* Maps that Avro files have as arrays of records of a key and its value (spec: Avro): an Avro map, which is all that
 * Spark's reader knows, has text for keys. */
package io.sqlext

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types._

object MapsOfPairs {
  /** The columns as a file has them. `withIds` are the same columns with field ids; `pairs` names the maps of text
    * keys that are such arrays, by the id of the nearest field around a map and the parts of lists and maps between
    * the two. */
  def inFile(withIds: StructType, columns: StructType, pairs: Set[String]): StructType = {
    def of(withId: DataType, dataType: DataType, at: String): DataType = (withId, dataType) match {
      case (s: StructType, t: StructType) =>
        StructType(s.zip(t).map { case (f, g) => g.copy(dataType = of(f.dataType, g.dataType, FieldIds.id(f).mkString)) })
      case (a: ArrayType, b: ArrayType) => b.copy(elementType = of(a.elementType, b.elementType, s"$at.element"))
      case (m: MapType, n: MapType) =>
        val (key, value) = (of(m.keyType, n.keyType, s"$at.key"), of(m.valueType, n.valueType, s"$at.value"))
        if (m.keyType == StringType && !pairs(at)) n.copy(keyType = key, valueType = value)
        else ArrayType(StructType(Seq(
          StructField("key", key, nullable = false), StructField("value", value, n.valueContainsNull))), containsNull = false)
      case (_, other) => other
    }
    of(withIds, columns, "").asInstanceOf[StructType]
  }

  /** A reader of rows of the file's columns as one of rows with maps. */
  def shown(read: PartitionedFile => Iterator[InternalRow], inFile: StructType, columns: StructType): PartitionedFile => Iterator[InternalRow] =
    if (inFile == columns) read
    else { file =>
      val values = new StoredValues(Map.empty)
      read(file).map(values.shown(_, inFile, columns))
    }
}
