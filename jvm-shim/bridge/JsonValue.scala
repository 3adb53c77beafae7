/* Values of simple types in Python's JSON, as Spark's InternalRow holds them. */
package io.sqlext

import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Values of simple types as Spark has them within rows, from Python's JSON: days, microseconds, decimals as text,
  * bytes in Base64. */
object JsonValue {
  def decode(node: JsonNode, dataType: DataType): Any =
    if (node.isNull) null
    else dataType match {
      case BooleanType => node.asBoolean
      case IntegerType | DateType => node.asInt
      case FloatType => node.asDouble.toFloat
      case DoubleType => node.asDouble
      case StringType => UTF8String.fromString(node.asText)
      case BinaryType => Base64.getDecoder.decode(node.asText)
      case d: DecimalType => Decimal(new java.math.BigDecimal(node.asText), d.precision, d.scale)
      case _ => node.asLong
    }
}
