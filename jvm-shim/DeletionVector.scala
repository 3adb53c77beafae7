package io.sqlext

import java.nio.{ByteBuffer, ByteOrder}
import java.util

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

private[sqlext] class DecodedVector(val bytes: Array[Byte]) {
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

  /** Which of the positions from `first` to `last` it has, by their distance from the first; None unless they are `count`
    * positions in a row that it keeps together. */
  def within(first: Long, last: Long, count: Int): Option[util.BitSet] =
    if (last - first != count - 1 || first >>> 32 != last >>> 32) None
    else {
      val marks = new util.BitSet
      bitmaps.get((first >>> 32).toInt).foreach { bitmap =>
        val found = bitmap.getIntIterator
        found.advanceIfNeeded(first.toInt)
        while (found.hasNext && Integer.compareUnsigned(found.peekNext, last.toInt) <= 0) marks.set(found.next() - first.toInt)
      }
      Some(marks)
    }

  def contains(position: Long): Boolean = {
    val high = (position >>> 32).toInt
    if (high == 0) lowest.contains(position.toInt) else bitmaps.get(high).exists(_.contains(position.toInt))
  }
}
