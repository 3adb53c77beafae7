package io.sqlext

import org.apache.spark.SparkContext
import org.apache.spark.sql.{SparkSession, classic}

/** Names of Spark's jobs in its UI, status tracker and event log: "MERGE INTO lake.db.t: write files" rather than the place
  * in the code that starts them. They are local properties of the thread, which the threads of its queries inherit; job
  * groups and tags stay the user's. A description that the user, a console or a stream has set comes first, since it says
  * which of their runs it is, and ours what it is doing. */
object JobNames {
  private val description = "spark.job.description"
  private val callSite = "callSite.short"
  private val separator = ": "

  /** The jobs of `run` are those of a statement. */
  def of[T](session: SparkSession, title: String)(run: => T): T =
    named(session.asInstanceOf[classic.SparkSession].sparkContext, title)(run)

  /** The jobs of `run` are a phase of what is named already, or of something that is not. */
  def inPhase[T](session: SparkSession, phase: String)(run: => T): T =
    named(session.asInstanceOf[classic.SparkSession].sparkContext, phase)(run)

  /** Names the jobs of this thread until `end`, which takes what it returns. For Python. */
  def begin(session: SparkSession, title: String): Array[String] =
    begun(session.asInstanceOf[classic.SparkSession].sparkContext, title)

  def end(session: SparkSession, before: Array[String]): Unit =
    ended(session.asInstanceOf[classic.SparkSession].sparkContext, before)

  private def named[T](context: SparkContext, name: String)(run: => T): T = {
    val before = begun(context, name)
    try run
    finally ended(context, before)
  }

  private def begun(context: SparkContext, name: String): Array[String] = {
    val before = Array(description, callSite).map(context.getLocalProperty)
    val Array(told, site) = before
    context.setLocalProperty(description, if (told == null) name else told + separator + name)
    // A call site that is not ours stays: a user or a server has set it, or PySpark for one action.
    if (site == null || site == told) context.setLocalProperty(callSite, context.getLocalProperty(description))
    before
  }

  private def ended(context: SparkContext, before: Array[String]): Unit =
    Seq(description, callSite).zip(before).foreach { case (name, value) => context.setLocalProperty(name, value) }
}
