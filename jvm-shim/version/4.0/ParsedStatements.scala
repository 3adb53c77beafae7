/* Spark 4.0: parameters are bound after a statement is parsed, so that the parser never gets them, and a parse error
 * has the place where its text ends. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.trees.Origin

import scala.jdk.CollectionConverters._

object ParsedStatements {
  def withLiterals(text: String, forSpark: String, parameters: Seq[AnyRef]): String = text

  def parseError(e: AnalysisException): ParseException = {
    val place = Origin(e.line, e.startPosition)
    new ParseException(None, place, place, e.getCondition, e.getMessageParameters.asScala.toMap, e.getQueryContext)
  }
}
