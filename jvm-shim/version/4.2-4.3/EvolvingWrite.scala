/* Spark from 4.2 on: `writeTo(…).withSchemaEvolution()`, and INSERT WITH SCHEMA EVOLUTION in forms that Spark parses. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand

object EvolvingWrite {
  /** Whether columns that the table lacks are to be added. */
  def is(write: V2WriteCommand): Boolean = write.withSchemaEvolution
}
