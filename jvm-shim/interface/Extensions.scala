/* Spark's SparkSessionExtensionsProvider: the parser, rules and functions of the shim, injected into each session.
 * Spark finds it through META-INF/services; no setting names it. */
package io.sqlext

import org.apache.spark.sql.sqlext.{ChangesClause, ParsedStatements, ViewsAsSuch}
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

class Extensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectParser(Parser.around)
    extensions.injectHintResolutionRule(_ => ChangesClause)
    extensions.injectHintResolutionRule(_ => ContinuousStreams)
    extensions.injectHintResolutionRule(_ => ReadOptions)
    extensions.injectResolutionRule(_ => KnownReadOptions)
    extensions.injectResolutionRule(_ => ViewsAsSuch)
    extensions.injectResolutionRule(_ => ResolveMergeColumns)
    extensions.injectResolutionRule(_ => ResolveDefaults)
    extensions.injectResolutionRule(_ => StreamsToPython)
    extensions.injectResolutionRule(_ => StreamedTables)
    extensions.injectPlanNormalizationRule(_ => NewestVersions)
    extensions.injectOptimizerRule(_ => ApplyDeletes)
    extensions.injectOptimizerRule(_ => JoinedValues)
    extensions.injectColumnar(_ => LookUps)
    extensions.injectPlannerStrategy(_ => PackedRows.Planning)
    ParsedStatements.inject(extensions)
    extensions.injectPostHocResolutionRule(_ => NamesInSessionCatalog)
    extensions.injectPostHocResolutionRule(_ => DescribedTable)
    extensions.injectPostHocResolutionRule(_ => ListedColumns)
    extensions.injectPostHocResolutionRule(_ => PlannedStatements)
    extensions.injectPostHocResolutionRule(_ => WritesToPython)
    extensions.injectPostHocResolutionRule(_ => RowChangesToPython)
    extensions.injectFunction(Given.expression)
    extensions.injectTableFunction(Given.rows)
    extensions.injectTableFunction(TableChanges.function)
    extensions.injectFunction(StoreAssignment.function)
    extensions.injectFunction(StoreAssignment.partFunction)
    extensions.injectFunction(RowExpressions.condition)
    extensions.injectFunction(TransformFunction.bucket)
    extensions.injectFunction(TaskCount.function)
    extensions.injectFunction(ThetaSketch.function)
    extensions.injectFunction(UnitedSketches.function)
    extensions.injectFunction(MergedElements.function)
  }
}
