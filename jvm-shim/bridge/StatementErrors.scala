/* Exceptions of Spark about the SQL that stands in for a statement, made anew with their conditions and parameters,
 * and with the places that Python finds for them in the statement's own text. A place that it does not find is left
 * out, and so is the plan, which no user wrote. */
package org.apache.spark.sql.sqlext

import com.fasterxml.jackson.databind.JsonNode
import io.sqlext.Bridge
import org.apache.spark._
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.ExtendedAnalysisException
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.trees.SQLQueryContext

import scala.jdk.CollectionConverters._

object StatementErrors {
  def placed(failure: Throwable, statement: String): Throwable = {
    val placed = failure match {
      case e: SparkException if e.getCondition == null && e.getCause.isInstanceOf[SparkThrowable] =>
        this.placed(e.getCause, statement) // what failed in a thread that another one waited for

      case e: ParseException => parsing(e, statement)
      case e: ExtendedAnalysisException => analysis(e, contexts(e.context, statement).getOrElse(e.context))
      case e: AnalysisException => contexts(e.context, statement).map(analysis(e, _)).getOrElse(e)
      case e: SparkThrowable => contexts(e.getQueryContext, statement).map(running(e, failure.getCause, _)).getOrElse(failure)
      case _ => failure
    }
    placed.setStackTrace(failure.getStackTrace)
    placed
  }

  private def analysis(e: AnalysisException, found: Array[QueryContext]): Throwable = {
    val (line, position) = found.headOption match {
      case Some(c: SQLQueryContext) => (c.line, c.startPosition)
      case _ => (None, None)
    }
    new PlacedException(e.message, line, position, e.cause, e.errorClass, e.messageParameters, found)
  }

  private def parsing(e: ParseException, statement: String): Throwable = {
    val Seq(told) = places(Seq(Map("text" -> e.command, "line" -> e.line, "position" -> e.startPosition)), statement)
    if (!told.get("is_lowered").asBoolean) e
    else {
      val place = placeIn(told)
      new PlacedException(e.message, place.map(_.get("line").asInt), place.map(_.get("position").asInt), None,
        Option(e.getCondition), e.messageParameters, Array.empty[QueryContext])
    }
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

  /** The contexts that are known in the statement, and those of other texts, such as a view's, as they are; None
    * where all are of other texts. */
  private def contexts(all: Array[QueryContext], statement: String): Option[Array[QueryContext]] = {
    val texts = all.toSeq.collect { case c: SQLQueryContext => c }
    val told = if (texts.isEmpty) Nil else places(texts.map(c =>
      Map("text" -> c.sqlText, "start" -> c.originStartIndex, "stop" -> c.originStopIndex)), statement)
    val lowered = texts.zip(told).toMap[QueryContext, JsonNode].filter(_._2.get("is_lowered").asBoolean)
    Option.when(lowered.nonEmpty)(all.flatMap {
      case c: SQLQueryContext if lowered.contains(c) => placeIn(lowered(c)).map { place =>
        val start = place.get("offset").asInt
        SQLQueryContext(Some(place.get("line").asInt), Some(place.get("position").asInt), Some(start),
          Some(start + c.originStopIndex.get - c.originStartIndex.get), Some(statement), None, None)
      }
      case other => Some(other)
    })
  }

  private def places(pieces: Seq[Map[String, Any]], statement: String): Seq[JsonNode] =
    Bridge.ask("error places", Map("statement" -> statement, "pieces" -> pieces)).get("places").elements.asScala.toSeq

  private def placeIn(told: JsonNode): Option[JsonNode] = Option(told.get("place")).filterNot(_.isNull)
}

/** Spark's class with the message as it was. Spark 4.0 has that constructor for subclasses only. */
private class PlacedException(message: String, line: Option[Int], position: Option[Int], cause: Option[Throwable],
    condition: Option[String], parameters: Map[String, String], contexts: Array[QueryContext])
    extends AnalysisException(message, line, position, cause, condition, parameters, contexts)
