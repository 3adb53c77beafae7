/* `parquet.field.id` in the metadata of each field, by which Spark's Parquet reader finds columns (spec: "Column
 * Projection"). */
package io.sqlext

import org.apache.spark.sql.types._

object FieldIds {
  private val key = "parquet.field.id"

  def id(field: StructField): Option[Long] = if (field.metadata.contains(key)) Some(field.metadata.getLong(key)) else None

  def withId(name: String, dataType: DataType, id: Long): StructField =
    StructField(name, dataType, nullable = true, new MetadataBuilder().putLong(key, id).build())

  /** Spark's reader finds a field by its id, but looks its type up by the name it has in the file first: a name that
    * was another field's may not stand in the schema it is given. */
  def unmistakable(struct: StructType, reused: Set[Long]): StructType = changed(struct) { f =>
    id(f).filter(reused).fold(f)(id => f.copy(name = nameless(id)))
  }

  /** The fields under the names a file has for their ids; a name that no file has for one that this file lacks. */
  def named(struct: StructType, names: Map[Long, String]): StructType = changed(struct) { f =>
    val id = f.metadata.getLong(key)
    unmarked(f).copy(name = names.getOrElse(id, nameless(id)), nullable = f.nullable || !names.contains(id))
  }

  def without(struct: StructType): StructType = changed(struct)(unmarked)

  private def nameless(id: Long): String = s"__field_$id"

  private def unmarked(field: StructField): StructField =
    field.copy(metadata = new MetadataBuilder().withMetadata(field.metadata).remove(key).build())

  /** The struct with its fields, at any depth, changed: each as it is before those within it. */
  def changed(struct: StructType)(change: StructField => StructField): StructType = {
    def within(dataType: DataType): DataType = dataType match {
      case s: StructType => changed(s)(change)
      case a: ArrayType => a.copy(elementType = within(a.elementType))
      case m: MapType => m.copy(keyType = within(m.keyType), valueType = within(m.valueType))
      case other => other
    }
    StructType(struct.map(change).map(f => f.copy(dataType = within(f.dataType))))
  }

  /** The fields of `pruned`, a projection of `full` by name, with ids and leaf types of `full`, and null where one
    * of the two may be. */
  def onto(pruned: StructType, full: StructType): StructType = StructType(pruned.map { field =>
    val whole = full(field.name)
    StructField(field.name, onto(field.dataType, whole.dataType), field.nullable || whole.nullable, whole.metadata)
  })

  private def onto(pruned: DataType, full: DataType): DataType = (pruned, full) match {
    case (p: StructType, f: StructType) => onto(p, f)
    case (p: ArrayType, f: ArrayType) => p.copy(elementType = onto(p.elementType, f.elementType))
    case (p: MapType, f: MapType) => p.copy(keyType = onto(p.keyType, f.keyType), valueType = onto(p.valueType, f.valueType))
    case _ => full
  }
}
