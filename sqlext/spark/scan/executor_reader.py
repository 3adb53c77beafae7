"""Reading of manifests by Spark's executors, in one job that decodes and prunes them and returns matching entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark import SparkContext

from sqlext.errors import SqlextError
from sqlext.scan.files.manifest_cache import EntriesOf
from sqlext.spark.executor_task import for_executors
from sqlext.spec.manifests.manifest import ManifestEntry, ManifestFile

_TASKS_PER_CORE = 4


class ExecutorReader:
    """A `DistributedReader` for the scan layer."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context

    def __call__(self, manifests: Sequence[ManifestFile], read: EntriesOf) -> list[list[ManifestEntry]]:
        """The entries of each manifest, in order. Raises the first error of `read`."""
        tasks = max(1, min(len(manifests), _TASKS_PER_CORE * self._context.defaultParallelism))
        sent = for_executors(self._context, partial(_outcomes, read))
        outcomes = self._context.parallelize(list(manifests), tasks).mapPartitions(sent).collect()
        for outcome in outcomes:
            if isinstance(outcome, _Failure):
                raise outcome.error()
        return list(outcomes)


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error for the driver, without the task's stack trace."""

    kind: type[SqlextError]
    condition: str
    parameters: dict[str, str]

    def error(self) -> SqlextError:
        return self.kind(self.condition, **self.parameters)


def _outcomes(read: EntriesOf, manifests: Iterator[ManifestFile]) -> Iterator[list[ManifestEntry] | _Failure]:
    return (_outcome(read, manifest) for manifest in manifests)


def _outcome(read: EntriesOf, manifest: ManifestFile) -> list[ManifestEntry] | _Failure:
    try:
        return read(manifest)
    except SqlextError as failure:
        return _Failure(type(failure), failure.condition, failure.parameters)
