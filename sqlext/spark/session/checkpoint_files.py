"""Spark's files of a streaming query in its checkpoint folder, on any file system that Spark can read."""

from __future__ import annotations

import hashlib

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from sqlext.spark.shim.java_objects import java_session, jvm

_DIGITS = 16


def batch_plan(spark: SparkSession, checkpoint: str, batch_id: int) -> str:
    """A fingerprint of the batch's offsets and the time of their planning, which precedes execution.

    It is equal for a batch that runs again; empty if Spark has no such file. Raises Py4JJavaError if the file cannot be
    read, as after the query is stopped.
    """
    java = jvm(spark)
    path = java.org.apache.hadoop.fs.Path(checkpoint, f"offsets/{batch_id}")
    try:
        stream = path.getFileSystem(java_session(spark).sessionState().newHadoopConf()).open(path)
        try:
            text = str(java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
    except Py4JJavaError as failure:
        # After other errors there may be a file: a batch committed without fingerprint would be refused in its rerun.
        if failure.java_exception.getClass().getName() != "java.io.FileNotFoundException":
            raise
        return ""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
