package org.apache.spark.sql.sqlext

import org.apache.spark._
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.ExtendedAnalysisException
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.trees.SQLQueryContext

import scala.jdk.CollectionConverters._

/** Errors of the SQL that stands in for a statement, told at the places of the statement's own text.
  *
  * That SQL holds pieces of the statement as they are written, so a place is found again by what stands around it. One
  * that is in no such piece, or could be in two of them, is left out, and so is the plan, which no user wrote. */
object StatementErrors {
  /** How SQL begins that Python made of a statement (`sqlext.spark.query.lowered_sql`). */
  private val mark = "/*sqlext*/"
  /** So many characters around a place tell it from others, and are soon compared in a long statement. */
  private val farthest = 500

  def placed(failure: Throwable, statement: String): Throwable = {
    val placed = failure match {
      case e: SparkException if e.getCondition == null && e.getCause.isInstanceOf[SparkThrowable] =>
        this.placed(e.getCause, statement) // what failed in a thread that another one waited for

      case e: ParseException => parsing(e, statement)
      case e: ExtendedAnalysisException => analysis(e, statement)
      case e: AnalysisException if e.context.exists(isOurs) => analysis(e, statement)
      case e: SparkThrowable if e.getQueryContext.exists(isOurs) => running(e, failure.getCause, contexts(e.getQueryContext, statement))
      case _ => failure
    }
    placed.setStackTrace(failure.getStackTrace)
    placed
  }

  private def analysis(e: AnalysisException, statement: String): Throwable = {
    val found = contexts(e.context, statement)
    val (line, position) = found.headOption match {
      case Some(c: SQLQueryContext) => (c.line, c.startPosition)
      case _ => (None, None)
    }
    new AnalysisException(e.message, line, position, e.cause, e.errorClass, e.messageParameters, found)
  }

  private def parsing(e: ParseException, statement: String): Throwable = {
    val at = for {
      text <- e.command if text.startsWith(mark)
      line <- e.line
      position <- e.startPosition
      offset <- place(text, offsetOf(text, line, position), 0, statement)
    } yield lineAndPosition(statement, offset)
    if (e.command.exists(_.startsWith(mark)))
      new AnalysisException(e.message, at.map(_._1), at.map(_._2), None, Option(e.getCondition), e.messageParameters, Array.empty[QueryContext])
    else e
  }

  private def running(e: SparkThrowable, cause: Throwable, found: Array[QueryContext]): Throwable = {
    val parameters = e.getMessageParameters.asScala.toMap
    val summary = found.headOption.map(_.summary).getOrElse("")
    e match {
      case _: SparkArithmeticException => new SparkArithmeticException(e.getCondition, parameters, found, summary)
      case _: SparkNumberFormatException => new SparkNumberFormatException(e.getCondition, parameters, found, summary)
      case _: SparkDateTimeException => new SparkDateTimeException(e.getCondition, parameters, found, summary)
      case _: SparkArrayIndexOutOfBoundsException =>
        new SparkArrayIndexOutOfBoundsException(e.getCondition, parameters, found, summary)
      case _: SparkIllegalArgumentException =>
        new SparkIllegalArgumentException(e.getCondition, parameters, found, summary, cause)
      case _ => new SparkRuntimeException(e.getCondition, parameters, cause, found, summary)
    }
  }

  private def isOurs(context: QueryContext): Boolean = context match {
    case c: SQLQueryContext => c.sqlText.exists(_.startsWith(mark))
    case _ => false
  }

  /** The contexts that are known in the statement; those of other texts, such as a view's, stay as they are. */
  private def contexts(all: Array[QueryContext], statement: String): Array[QueryContext] = all.flatMap {
    case c: SQLQueryContext if isOurs(c) =>
      for (text <- c.sqlText; start <- c.originStartIndex; stop <- c.originStopIndex;
           offset <- place(text, start, stop + 1 - start, statement)) yield {
        val (line, position) = lineAndPosition(statement, offset)
        SQLQueryContext(Some(line), Some(position), Some(offset), Some(offset + stop - start), Some(statement), None, None)
      }
    case other => Some(other)
  }

  /** Where the `length` characters of `text` from `start` on are in the statement: where most around them is the same. */
  private def place(text: String, start: Int, length: Int, statement: String): Option[Int] = {
    val fragment = text.substring(start, start + length)
    val found = Iterator.iterate(statement.indexOf(fragment))(at => statement.indexOf(fragment, at + 1)).takeWhile(_ >= 0)
      .take(statement.length + 1).toSeq.distinct
    val likeness = found.map(at => at -> (sameBefore(text, start, statement, at) + sameAfter(text, start + length, statement, at + length)))
    likeness.sortBy(-_._2).toList match {
      case List((at, _)) => Some(at)
      case (at, around) :: (_, next) :: _ if around > next => Some(at)
      case _ => None
    }
  }

  private def sameBefore(a: String, i: Int, b: String, j: Int): Int = {
    var n = 0
    while (n < farthest && n < i && n < j && a(i - n - 1) == b(j - n - 1)) n += 1
    n
  }

  private def sameAfter(a: String, i: Int, b: String, j: Int): Int = {
    var n = 0
    while (n < farthest && i + n < a.length && j + n < b.length && a(i + n) == b(j + n)) n += 1
    n
  }

  private def offsetOf(text: String, line: Int, position: Int): Int = {
    val before = text.linesWithSeparators.take(line - 1).map(_.length).sum
    math.min(before + position, text.length)
  }

  private def lineAndPosition(text: String, offset: Int): (Int, Int) = {
    val before = text.substring(0, offset)
    (before.count(_ == '\n') + 1, offset - (before.lastIndexOf('\n') + 1))
  }
}
