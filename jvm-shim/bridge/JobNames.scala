package io.sqlext

import org.apache.spark.SparkContext
import org.apache.spark.sql.{SparkSession, classic}

/** Names of Spark's jobs in its UI, status tracker and event log: "MERGE INTO lake.db.t: write files" rather than the place
  * in the code that starts them. They are local properties of the thread, which the threads of its queries inherit; job
  * groups and tags stay the user's. A description that the user or a stream has set comes first, since it says which of
  * their runs it is, and ours what it is doing. One that a console or a server has made of the statement itself is replaced:
  * the name would stand behind all of its text. */
object JobNames {
  private val description = "spark.job.description"
  private val callSite = "callSite.short"
  private val separator = ": "
  private val ofConnect = "Spark Connect - "

  /** The jobs of `run` are those of a statement, which has this text if it came as one. */
  def of[T](session: SparkSession, title: String, text: Option[String])(run: => T): T =
    named(session.asInstanceOf[classic.SparkSession].sparkContext, title, told => text.exists(_.trim == told.trim))(run)

  /** The jobs of `run` are a phase of what is named already, or of something that is not. */
  def inPhase[T](session: SparkSession, phase: String)(run: => T): T =
    named(session.asInstanceOf[classic.SparkSession].sparkContext, phase)(run)

  /** Names the jobs of this thread until `end`, which takes what it returns. For Python. */
  def begin(session: SparkSession, title: String): Array[String] =
    begun(session.asInstanceOf[classic.SparkSession].sparkContext, title)

  def end(session: SparkSession, before: Array[String]): Unit =
    ended(session.asInstanceOf[classic.SparkSession].sparkContext, before)

  private def named[T](context: SparkContext, name: String, replaces: String => Boolean = _ => false)(run: => T): T = {
    val before = begun(context, name, replaces)
    try run
    finally ended(context, before)
  }

  private def begun(context: SparkContext, name: String, replaces: String => Boolean = _ => false): Array[String] = {
    val before = Array(description, callSite).map(context.getLocalProperty)
    val Array(told, site) = before
    val alone = told == null || told.startsWith(ofConnect) || replaces(told)
    context.setLocalProperty(description, if (alone) name else told + separator + name)
    // A call site that is not ours stays: a user has set it, or PySpark for one action.
    if (site == null || site == told || site.startsWith(ofConnect)) context.setLocalProperty(callSite, context.getLocalProperty(description))
    before
  }

  private def ended(context: SparkContext, before: Array[String]): Unit =
    Seq(description, callSite).zip(before).foreach { case (name, value) => context.setLocalProperty(name, value) }
}
