package io.sqlext

import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sqlext.SparkInternals

/** Settings of one job. They hold for the thread that plans or runs it; those of its session stay as they are, since other
  * threads and the user see them. */
object JobSettings {
  /** A packed value has thousands of rows, so each comes to a Python worker by itself. Spark 4.0 reads the number where it
    * plans (`PackingSession`). From 4.1 on batches end by bytes too, for which sizes are added up for nothing. */
  val oneByOne = Map(
    "spark.sql.execution.arrow.maxRecordsPerBatch" -> "1",
    "spark.sql.execution.arrow.maxBytesPerBatch" -> Int.MaxValue.toString)

  /** Evaluates the rows now, and holds them; see `withShuffles`. */
  def checkpointed(frame: DataFrame, tasks: Int): DataFrame = 
    JobNames.inPhase(frame.sparkSession, "compute rows")(withShuffles(frame.sparkSession, tasks)(frame.localCheckpoint()))

  /** What `plan` plans and runs, in queries whose shuffles have so many tasks at most; with 0 as many as the session says. */
  def withShuffles[T](session: SparkSession, tasks: Int)(plan: => T): T =
    if (tasks == 0) plan
    else {
      val settings = copied(SparkInternals.settingsOf(session))
      settings.setConf(SQLConf.SHUFFLE_PARTITIONS, tasks)
      SQLConf.withExistingConf(settings)(plan)
    }

  /** The rows of tasks in Python that get packed values. */
  def withPackedValues(rows: RDD[InternalRow]): RDD[InternalRow] = new RowsUnderSettings(rows, oneByOne)

  /** Settings that can be changed: a task's own cannot. */
  private[sqlext] def copied(settings: SQLConf): SQLConf = {
    val copy = new SQLConf
    settings.getAllConfs.foreach { case (name, value) => copy.setConfString(name, value) }
    copy
  }
}

/** Rows whose task has other settings while it sets up the stage, which is when Spark reads them. */
private class RowsUnderSettings(rows: RDD[InternalRow], settings: Map[String, String]) extends RDD[InternalRow](rows) {
  override protected def getPartitions: Array[Partition] = rows.partitions

  override def compute(split: Partition, task: TaskContext): Iterator[InternalRow] = {
    val own = JobSettings.copied(SQLConf.get)
    settings.foreach { case (name, value) => own.setConfString(name, value) }
    SQLConf.withExistingConf(own)(rows.iterator(split, task))
  }
}
