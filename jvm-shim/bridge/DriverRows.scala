/* Results of queries on their way to the driver's Python, in place of PySpark's collect: as Arrow streams one behind
 * the other, with a bound on their size, and what the optimiser knows of that size before they run. */
package io.sqlext

import java.io.{ByteArrayOutputStream, DataOutputStream, OutputStream}
import java.util.Base64

import com.github.luben.zstd.ZstdOutputStream
import org.apache.arrow.vector.ipc.ArrowStreamWriter
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.{InternalRow, ProjectingInternalRow}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LeafNode, LocalRelation, LogicalPlan, OneRowRelation, Project, Range, Union}
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.SparkInternals
import org.apache.spark.sql.types.{BinaryType, IntegerType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.roaringbitmap.longlong.Roaring64NavigableMap

import scala.collection.mutable
import scala.concurrent.{Await, ExecutionContext, Future, Promise}
import scala.concurrent.duration.Duration

/** The results of queries that the driver takes, as Arrow streams one behind the other, and what it can know of
  * their size before. Their times are in UTC. Each task packs its streams by zstd. They go as a text in Base64: Py4J
  * sends bytes so in any case, and turns each byte of an array into a number of Python first. */
object DriverRows {
  private val batchRows = 4096
  private val batchBytes = 4L * 1024 * 1024
  private val places = new StructType().add("path", StringType).add("positions", BinaryType).add("repeated", BinaryType)

  /** All rows, in their order; null where there are more than `most`, or have more than `mostBytes` as Arrow, of
    * which no more is kept. */
  def collect(frame: DataFrame, most: Long, mostBytes: Long): String = {
    val schema = frame.schema
    val bound = math.min(most, Int.MaxValue - 1).toInt + 1
    executeOrTake(frame, "fetch rows") { rows =>
      val found = stream(rows.take(bound), schema, mostBytes)
      if (found.rows > most || found.size > mostBytes) null else found.bytes
    } { plan => unlessMore(plan.execute().mapPartitions(rows => Iterator.single(stream(rows.take(bound), schema, mostBytes))), most, mostBytes) }
  }

  /** For each task and data file the positions of its rows, and those that came more than once: 64-bit roaring
    * bitmaps in their portable form. The rows have columns `_file` and `_pos`. */
  def collectPositions(frame: DataFrame): String = {
    val (file, position) = (frame.schema.fieldIndex("_file"), frame.schema.fieldIndex("_pos"))
    executeOrTake(frame, "find rows")(positions(_, file, position)) {
      _.execute().mapPartitions(rows => Iterator.single(positions(rows, file, position))).collect().flatten
    }
  }

  /** All rows of a query whose last step is a function in Python that writes; see `JobSettings` for `tasks`. */
  def collectWritten(frame: DataFrame, tasks: Int): String = {
    val (session, schema) = (frame.sparkSession, frame.schema)
    JobSettings.withShuffles(session, tasks) {
      packed(execute(frame, queryOf(frame), "write files") { plan =>
        JobSettings.withPackedValues(plan.execute()).mapPartitions { rows =>
          Iterator.single(stream(rows, schema, Long.MaxValue).bytes)
        }.collect().flatten
      })
    }
  }

  /** What `laidOut` makes of the rows of all partitions, in their order; None where they have more than `most` bytes, as
    * one of several partitions tells that has more than half of these: it is given the most that it may have. */
  private[sqlext] def laidOut(frame: DataFrame, most: Long)(laidOut: (Iterator[InternalRow], Long) => Taken): Option[Array[Byte]] =
    Option(execute(frame, queryOf(frame), "fetch rows") { plan =>
      val rows = plan.execute()
      val each = if (rows.getNumPartitions > 1) most / 2 else most
      unlessMore(rows.mapPartitions { some =>
        val taken = laidOut(some, each)
        Iterator.single(if (taken.size > each) taken.copy(size = most + 1) else taken)
      }, Long.MaxValue, most)
    })

  private def positions(rows: Iterator[InternalRow], file: Int, position: Int): Array[Byte] =
    stream(placed(rows, file, position), places, Long.MaxValue).bytes

  /** What `take` makes of rows that the driver has, or finds itself, and `run` of others by jobs. */
  private def executeOrTake(frame: DataFrame, phase: String)(take: Iterator[InternalRow] => Array[Byte])(
      run: SparkPlan => Array[Byte]): String = {
    val query = queryOf(frame)
    packed(PlansOnDriver.rows(query.executedPlan).map(take).getOrElse(execute(frame, query, phase)(run)))
  }

  /** `phase` is what the jobs do, in their names. To announce them, Spark writes the whole plan out. */
  private def execute(frame: DataFrame, query: QueryExecution, phase: String)(run: SparkPlan => Array[Byte]): Array[Byte] =
    JobNames.inPhase(frame.sparkSession, phase)(
      SQLExecution.withNewExecutionId(query, Some("sqlext"))(run(SharedCode(query.executedPlan))))

  private def packed(bytes: Array[Byte]): String = if (bytes == null) null else Base64.getEncoder.encodeToString(bytes)

  private def queryOf(frame: DataFrame): QueryExecution = withLocalRows(frame.asInstanceOf[classic.DataFrame]).queryExecution

  /** A query that reads no table, with a local row for each that Spark has for a SELECT without FROM: it evaluates
    * those by itself, and would compile code and run a job for its own. A MERGE of one row takes 1.7 times the CPU
    * without. */
  private def withLocalRows(frame: classic.DataFrame): classic.DataFrame = {
    val plan = frame.queryExecution.optimizedPlan
    val leaves = plan.collectLeaves()
    if (leaves.exists(_.isInstanceOf[OneRowRelation]) &&
        leaves.forall(leaf => leaf.isInstanceOf[OneRowRelation] || leaf.isInstanceOf[LocalRelation]))
      SparkInternals.ofRows(frame.sparkSession, plan.transformDown {
        case OneRowRelation() => LocalRelation(Nil, Seq(InternalRow.empty))
      })
    else frame
  }

  /** The bytes of all partitions, in their order; null once they have more than `most` rows or `mostBytes`, and then
    * the job ends. */
  private def unlessMore(partitions: RDD[Taken], most: Long, mostBytes: Long): Array[Byte] = {
    val found = new Array[Array[Byte]](partitions.getNumPartitions)
    var (rows, size) = (0L, 0L)
    val exceeded = Promise[Unit]()
    val job = partitions.context.submitJob[Taken, Taken, Unit](partitions, _.next(), found.indices,
      { case (partition, taken) =>
        rows += taken.rows
        size += taken.size
        if (rows <= most && size <= mostBytes) found(partition) = taken.bytes else exceeded.trySuccess(())
      }, ())
    Await.ready(Future.firstCompletedOf(Seq(job, exceeded.future))(ExecutionContext.parasitic), Duration.Inf)
    if (exceeded.isCompleted) { job.cancel(); null }
    else { Await.result(job, Duration.Inf); found.flatten }
  }

  private def placed(rows: Iterator[InternalRow], file: Int, position: Int): Iterator[InternalRow] = {
    val found = new ByPath(_ => (new Roaring64NavigableMap, new Roaring64NavigableMap))
    rows.foreach { row =>
      val (positions, repeated) = found(row.getUTF8String(file))
      val at = row.getLong(position)
      (if (positions.contains(at)) repeated else positions).addLong(at)
    }
    found.iterator.map { case (path, (positions, repeated)) => InternalRow(path, portable(positions), portable(repeated)) }
  }

  private def portable(bitmap: Roaring64NavigableMap): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    bitmap.serializePortable(new DataOutputStream(bytes))
    bytes.toByteArray
  }

  /** Packed; no bytes for no rows. Where the rows have a column `_file`, there is a stream of the files' paths, and
    * then one of the rows, whose last column is the number of the path. It ends where it has more than `most` bytes. */
  private def stream(rows: Iterator[InternalRow], schema: StructType, most: Long): Taken =
    if (rows.isEmpty) Taken.nothing
    else schema.fieldNames.indexOf(MetadataColumns.file.name) match {
      case at if at >= 0 && schema(at).dataType == StringType =>
        val files = new NumberedFiles(schema, at)
        val numbered = packed(rows, schema, files.schema, most)(files.numbered)
        val path = StructType(Seq(schema(at)))
        val paths = packed(files.paths, path, path, Long.MaxValue)(identity)
        Taken(numbered.rows, numbered.size, paths.bytes ++ numbered.bytes)
      case _ => packed(rows, schema, schema, most)(identity)
    }

  /** The rows of `schema`, as `written` makes them to rows of `stored`. */
  private def packed(rows: Iterator[InternalRow], schema: StructType, stored: StructType, most: Long)(
      written: InternalRow => InternalRow): Taken = {
    val sized = new SizedRows(rows, schema)
    val bytes = new ByteArrayOutputStream
    val counted = new CountedBytes(new ZstdOutputStream(bytes))
    val arrow = ArrowWriter.create(stored, "UTC", true, false)
    val writer = new ArrowStreamWriter(arrow.root, null, counted)
    try {
      while (counted.count <= most && sized.hasNext) {
        val (firstRow, firstByte) = (sized.rows, sized.bytes)
        while (sized.rows - firstRow < batchRows && sized.bytes - firstByte < batchBytes && sized.hasNext)
          arrow.write(written(sized.next()))
        arrow.finish()
        writer.writeBatch()
        arrow.reset()
      }
      writer.end()
    } finally {
      arrow.root.close()
      counted.close()
    }
    if (counted.count > most) Taken(sized.rows, counted.count, Array.emptyByteArray) else Taken(sized.rows, counted.count, bytes.toByteArray)
  }

  /** JSON of what the optimiser takes the rows for: `bytes`, the factor by which tables' files outweigh that
    * (`understated`), `rows`, null where it counts none, and `row_bytes` of one; whether another run would give the
    * same (`repeatable`); whether it has one row at most for each that it reads, and nobody knows how many a
    * condition leaves (`filters`); whether a query may have it twice and Spark would broadcast it (`broadcast`); and
    * whether all this says nothing, as a row may become any number of rows (`multiplies`). */
  def estimate(frame: DataFrame): String = {
    val plan = frame.asInstanceOf[classic.DataFrame].queryExecution.optimizedPlan
    Bridge.encode(Map(
      "bytes" -> plan.stats.sizeInBytes,
      "understated" -> understated(plan),
      "rows" -> plan.stats.rowCount.orNull,
      "row_bytes" -> frame.schema.defaultSize,
      "repeatable" -> plan.deterministic,
      "filters" -> filters(plan),
      "broadcast" -> isBroadcast(plan),
      "multiplies" -> plan.exists(node => multiplying.exists(node.nodeName.startsWith))))
  }

  private def filters(plan: LogicalPlan): Boolean = plan.exists(_.isInstanceOf[Filter]) && passesRows(plan)

  /** Whether it has one row at most for each that it reads. */
  private[sqlext] def passesRows(plan: LogicalPlan): Boolean = !plan.exists {
    case _: Project | _: Filter | _: Union | _: LeafNode => false
    case _ => true
  }

  /** It has the values of the query and rows of versions of tables alone, which are the same wherever they are read.
    * Functions of users may cost any time, or tell how often they are called. */
  private def isBroadcast(plan: LogicalPlan): Boolean =
    passesRows(plan) && plan.collectLeaves().forall {
      case _: LocalRelation | _: OneRowRelation | _: Range => true
      case relation: DataSourceV2ScanRelation => relation.scan.isInstanceOf[SqlextScan]
      case _ => false
    } && plan.deterministic && !plan.exists(_.expressions.exists(_.exists {
      case _: UserDefinedExpression | _: SubqueryExpression => true
      case _ => false
    })) && plan.stats.sizeInBytes <= SQLConf.get.autoBroadcastJoinThreshold

  /** The largest factor by which the files of a scan outweigh what Spark takes its rows for; 1 where none do. Spark
    * has one size for all texts, however long. */
  private def understated(optimized: LogicalPlan): Double = (1.0 +: optimized.collectWithSubqueries {
    case relation: DataSourceV2ScanRelation => relation.scan match {
      case own: SqlextScan => own.understated
      case _ => 1.0
    }
  }).max

  private val multiplying =
    Seq("Generate", "MapIn", "MapPartitions", "MapGroups", "FlatMap", "CoGroup", "ScriptTransformation")
}

/** What a task found: rows, their size as Arrow and, unless that is too much, their bytes, packed. */
private case class Taken(rows: Long, size: Long, bytes: Array[Byte])

private object Taken {
  val nothing: Taken = Taken(0, 0, Array.emptyByteArray)
}

/** Rows, and how many there were and of how many bytes as Spark lays them out. */
private class SizedRows(all: Iterator[InternalRow], schema: StructType) extends Iterator[InternalRow] {
  private lazy val laidOut = UnsafeProjection.create(schema)
  var rows = 0L
  var bytes = 0L

  override def hasNext: Boolean = all.hasNext

  override def next(): InternalRow = {
    val row = all.next() match {
      case unsafe: UnsafeRow => unsafe
      case other => laidOut(other)
    }
    rows += 1
    bytes += row.getSizeInBytes
    row
  }
}

private class CountedBytes(to: OutputStream) extends OutputStream {
  var count = 0L

  override def write(byte: Int): Unit = { count += 1; to.write(byte) }
  override def write(bytes: Array[Byte], offset: Int, length: Int): Unit = { count += length; to.write(bytes, offset, length) }
  override def flush(): Unit = to.flush()
  override def close(): Unit = to.close()
}

/** Rows with the number of their file, in the last column, in place of its path, which all rows of a file have. With the
  * path in each row an UPDATE of 1 % of lineitem takes 10 % more CPU. */
private class NumberedFiles(columns: StructType, at: Int) {
  private val others = columns.indices.filter(_ != at)
  private val projected = ProjectingInternalRow(StructType(others.map(columns)), others)
  private val number = new SpecificInternalRow(Seq(IntegerType))
  private val joined = new JoinedRow(projected, number)
  private val numbers = new ByPath(identity)

  val schema: StructType = StructType(others.map(columns)).add(columns(at).name, IntegerType)

  /** Good until the next one is asked for. */
  def numbered(row: InternalRow): InternalRow = {
    projected.project(row)
    if (row.isNullAt(at)) number.setNullAt(0)
    else number.setInt(0, numbers(row.getUTF8String(at)))
    joined
  }

  /** Those of the rows so far, by their numbers. */
  def paths: Iterator[InternalRow] = numbers.iterator.map { case (path, _) => InternalRow(path) }
}

/** What is kept for each file, made of how many there were before it. Rows come in runs of one file, whose path is
  * looked up once. */
private class ByPath[A](made: Int => A) {
  private val found = mutable.LinkedHashMap.empty[UTF8String, A]
  private var last: UTF8String = null
  private var ofLast: A = _

  def apply(path: UTF8String): A = {
    if (path != last) {
      last = path.copy()
      ofLast = found.getOrElseUpdate(last, made(found.size))
    }
    ofLast
  }

  /** In the order in which they came. */
  def iterator: Iterator[(UTF8String, A)] = found.iterator
}
