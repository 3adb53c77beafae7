/* The markers of a statement's parameters, `?` and `:name`. Spark's lexer finds them rather than its grammar, which lacks
 * some of our syntax; so it takes these rules to tell a marker from a field in STRUCT<name: type> and from a path into a
 * VARIANT, value:path. */
package org.apache.spark.sql.sqlext

import org.antlr.v4.runtime.{CharStreams, Token}
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, Literal}
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer
import org.apache.spark.sql.errors.{QueryCompilationErrors, QueryExecutionErrors}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** A marker's first place in its text, the place behind it, and its name if it is not `?`. */
case class ParameterMarker(start: Int, end: Int, name: Option[String])

object ParameterMarkers {
  import SqlBaseLexer._

  private val endsOfValues = Set(RIGHT_PAREN, RIGHT_BRACKET, IDENTIFIER, BACKQUOTED_IDENTIFIER)
  private val word = "[A-Za-z_][A-Za-z_0-9]*|[0-9]+[A-Za-z_][A-Za-z_0-9]*|`(?:[^`]|``)*`".r

  /** In the order of the text, all of one kind: Spark refuses both in one statement. */
  def in(text: String): Seq[ParameterMarker] =
    if (!text.exists(c => c == '?' || c == ':')) Nil
    else {
      val tokens = lexed(text)
      val ofStructs = insideStructs(tokens)
      def isWord(i: Int): Boolean = tokens.isDefinedAt(i) && word.matches(tokens(i).in(text))
      def isField(colon: Int): Boolean = isWord(colon - 1) && ofStructs(colon)
      def isPath(colon: Int): Boolean = tokens.lift(colon - 1).exists { before =>
        endsOfValues(before.kind) || isWord(colon - 1) && before.end == tokens(colon).start
      }
      val markers = tokens.indices.flatMap { i =>
        tokens(i).kind match {
          case QUESTION => Some(ParameterMarker(tokens(i).start, tokens(i).end, None))
          case COLON if isWord(i + 1) && !isField(i) && !isPath(i) =>
            Some(ParameterMarker(tokens(i).start, tokens(i + 1).end, Some(unquoted(tokens(i + 1).in(text)))))
          case _ => None
        }
      }
      if (markers.map(_.name.isEmpty).distinct.size > 1) throw QueryCompilationErrors.invalidQueryMixedQueryParameters()
      markers
    }

  /** The text with SQL of the values in place of its markers. One that has no value stays: Spark says so of it. */
  def substituted(text: String, values: Seq[(ParameterMarker, Expression)]): String =
    values.sortBy(-_._1.start).foldLeft(text) { case (rest, (marker, value)) =>
      s"${rest.substring(0, marker.start)} ${sql(value)} ${rest.substring(marker.end)}"
    }

  /** With `escapedStringLiterals` Spark's SQL of a string is not that string, if it has a quote or a backslash. */
  private def sql(value: Expression): String = value match {
    case Alias(named, _) => sql(named)
    case Literal(string: UTF8String, _: StringType) if SQLConf.get.escapedStringLiterals =>
      s"CAST(${Literal(string.getBytes).sql} AS STRING)"
    case computed if computed.foldable && !computed.isInstanceOf[Literal] =>
      sql(Literal.create(computed.eval(), computed.dataType)) // a session variable, array(…)
    case other =>
      val said = other.sql
      if (SQLConf.get.escapedStringLiterals && said.contains('\\')) throw QueryExecutionErrors.literalTypeUnsupportedError(said)
      said
  }

  private def unquoted(name: String): String =
    if (name.startsWith("`")) name.substring(1, name.length - 1).replace("``", "`") else name

  private case class Lexed(kind: Int, start: Int, end: Int) {
    def in(text: String): String = text.substring(start, end)
  }

  /** Spark's lexer knows its words in upper case alone, and counts code points. */
  private def lexed(text: String): IndexedSeq[Lexed] = {
    val lexer = new SqlBaseLexer(CharStreams.fromString(text.map(_.toUpper)))
    lexer.removeErrorListeners()
    def place(codePoint: Int): Int = text.offsetByCodePoints(0, codePoint)
    Iterator.continually(lexer.nextToken()).takeWhile(_.getType != Token.EOF)
      .filter(_.getChannel == Token.DEFAULT_CHANNEL)
      .map(token => Lexed(token.getType, place(token.getStartIndex), place(token.getStopIndex + 1)))
      .toIndexedSeq
  }

  /** Of each token, whether it is between the angle brackets of a struct's type. */
  private def insideStructs(tokens: IndexedSeq[Lexed]): IndexedSeq[Boolean] =
    tokens.indices.scanLeft(0) { (depth, i) =>
      tokens(i).kind match {
        case LT if depth > 0 || i > 0 && tokens(i - 1).kind == STRUCT => depth + 1
        case GT if depth > 0 => depth - 1
        case _ => depth
      }
    }.tail.map(_ > 0)
}
