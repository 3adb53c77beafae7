/* Spark 4.1 and later: the parser gets a statement with its parameters. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParameterHandler, ParseException}
import org.apache.spark.sql.catalyst.trees.Origin

import scala.jdk.CollectionConverters._

object ParsedStatements {
  /** `forSpark` with Spark's own literals in place of its parameters; `text` where there are none, since Spark looks for
    * them by its own grammar, which lacks some of our syntax. */
  def withLiterals(text: String, forSpark: String, parameters: Seq[AnyRef]): String =
    parameters.collectFirst { case context: ParameterContext if !isEmpty(context) => context }
      .map(ParameterHandler.substituteParameters(forSpark, _)._1).getOrElse(text)

  private def isEmpty(context: ParameterContext): Boolean = context match {
    case fields: Product => fields.productIterator.forall { case given: Iterable[_] => given.isEmpty; case _ => false }
    case _ => false
  }

  def parseError(e: AnalysisException): ParseException =
    new ParseException(None, Origin(e.line, e.startPosition), e.getCondition, e.getMessageParameters.asScala.toMap, e.getQueryContext)
}
