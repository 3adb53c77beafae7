/* Spark's Batch scan of a metadata table, whose rows Python hands over as Arrow streams. Each goes to its task with
 * the task, and is read by columns. */
package io.sqlext

import java.io.ByteArrayInputStream
import java.util.Base64

import org.apache.arrow.memory.RootAllocator
import org.apache.arrow.vector.ValueVector
import org.apache.arrow.vector.ipc.ArrowStreamReader
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}

import scala.jdk.CollectionConverters._

class MetadataScanBuilder(table: SqlextTable) extends ScanBuilder {
  override def build(): Scan = new MetadataScan(table)
}

/** Rows of a metadata table, which Python hands over as Arrow streams. Each goes to its task with the task. */
class MetadataScan(table: SqlextTable) extends Scan with Batch {
  override def readSchema: StructType = table.schema
  override def toBatch: Batch = this
  override def description: String = s"sqlext ${table.name}"
  override def createReaderFactory: PartitionReaderFactory = new ArrowReaderFactory
  override def planInputPartitions: Array[InputPartition] =
    Bridge.ask("metadata rows", Map("table" -> table.handle)).get("streams").asScala
      .map(stream => ArrowPartition(Base64.getDecoder.decode(stream.asText)): InputPartition).toArray
}

private case class ArrowPartition(stream: Array[Byte]) extends InputPartition

/** Spark closes the columns of a batch after its last row; the reader puts the next batch into the same vectors. */
private class LentColumn(vector: ValueVector) extends ArrowColumnVector(vector) {
  override def close(): Unit = ()
}

private class ArrowReaderFactory extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = true

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("metadata tables are read by columns")

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] = new PartitionReader[ColumnarBatch] {
    private val allocator = new RootAllocator()
    private val reader = new ArrowStreamReader(new ByteArrayInputStream(partition.asInstanceOf[ArrowPartition].stream), allocator)
    private lazy val root = reader.getVectorSchemaRoot
    private lazy val columns = root.getFieldVectors.asScala.map(new LentColumn(_): ColumnVector).toArray

    override def next(): Boolean = reader.loadNextBatch()
    override def get(): ColumnarBatch = new ColumnarBatch(columns, root.getRowCount)
    override def close(): Unit = { reader.close(); allocator.close() }
  }
}
