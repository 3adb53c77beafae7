/* Spark up to 4.1: no write of a DataFrame asks for the schema to evolve, but by options. */
package org.apache.spark.sql.sqlext

import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand

object EvolvingWrite {
  /** Whether columns that the table lacks are to be added. */
  def is(write: V2WriteCommand): Boolean = false
}
