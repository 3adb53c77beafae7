package io.sqlext

import java.nio.{ByteBuffer, ByteOrder}

import org.roaringbitmap.RoaringBitmap

/** The test that generated code makes for each row: is this position of the file deleted? */
class DeletionVector

object DeletionVector {
  private val last = new ThreadLocal[DecodedVector]

  /** `vector` is the portable 64-bit roaring form or null; the bitmap is decoded once per file and thread. */
  def deleted(vector: Array[Byte], position: Long): Boolean =
    if (vector == null) false
    else {
      var decoded = last.get
      if (decoded == null || (decoded.bytes ne vector)) {
        decoded = new DecodedVector(vector)
        last.set(decoded)
      }
      decoded.contains(position)
    }
}

private class DecodedVector(val bytes: Array[Byte]) {
  private val bitmaps: Map[Int, RoaringBitmap] = {
    val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    (0L until buffer.getLong()).map { _ =>
      val high = buffer.getInt()
      val bitmap = new RoaringBitmap
      bitmap.deserialize(buffer)
      buffer.position(buffer.position() + bitmap.serializedSizeInBytes())
      high -> bitmap
    }.toMap
  }
  private val lowest = bitmaps.getOrElse(0, new RoaringBitmap)

  def contains(position: Long): Boolean = {
    val high = (position >>> 32).toInt
    if (high == 0) lowest.contains(position.toInt) else bitmaps.get(high).exists(_.contains(position.toInt))
  }
}
