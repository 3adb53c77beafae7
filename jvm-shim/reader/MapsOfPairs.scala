package io.sqlext

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData, MapData}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types._

/** Maps that Avro files have as arrays of records of a key and its value (spec: Avro): an Avro map has text for keys. */
object MapsOfPairs {
  /** The columns as a file has them. `withIds` are the same columns with field ids; `pairs` names the maps of text keys
    * that are such arrays, by the id of the nearest field around a map and the parts of lists and maps between the two. */
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
    if (inFile == columns) read else file => read(file).map(row => value(row, inFile, columns).asInstanceOf[InternalRow])

  private def value(found: Any, inFile: DataType, shown: DataType): Any = (inFile, shown) match {
    case _ if found == null || inFile == shown => found
    case (s: StructType, t: StructType) =>
      val row = found.asInstanceOf[InternalRow]
      new GenericInternalRow(Array.tabulate[Any](s.length)(i =>
        if (row.isNullAt(i)) null else value(row.get(i, s(i).dataType), s(i).dataType, t(i).dataType)))
    case (a: ArrayType, m: MapType) =>
      val records = found.asInstanceOf[ArrayData]
      val pair = a.elementType.asInstanceOf[StructType]
      def part(i: Int, shown: DataType) = new GenericArrayData(Array.tabulate[Any](records.numElements) { n =>
        val record = records.getStruct(n, 2)
        if (record.isNullAt(i)) null else value(record.get(i, pair(i).dataType), pair(i).dataType, shown)
      })
      new ArrayBasedMapData(part(0, m.keyType), part(1, m.valueType))
    case (a: ArrayType, b: ArrayType) => elements(found.asInstanceOf[ArrayData], a.elementType, b.elementType)
    case (m: MapType, n: MapType) =>
      val map = found.asInstanceOf[MapData]
      new ArrayBasedMapData(elements(map.keyArray, m.keyType, n.keyType), elements(map.valueArray, m.valueType, n.valueType))
    case _ => found
  }

  private def elements(array: ArrayData, inFile: DataType, shown: DataType): ArrayData =
    new GenericArrayData(Array.tabulate[Any](array.numElements)(i =>
      if (array.isNullAt(i)) null else value(array.get(i, inFile), inFile, shown)))
}
