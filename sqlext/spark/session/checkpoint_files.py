"""What Spark keeps of a streaming query in its checkpoint folder, on any file system that Spark reads."""

from __future__ import annotations

import hashlib

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_DIGITS = 16


def batch_plan(spark: SparkSession, checkpoint: str, batch_id: int) -> str:
    """A fingerprint of what the batch was planned to read, with the time when; it is planned before it is run.

    A batch that is run again has the same one. Empty where Spark keeps none. Py4JJavaError where it cannot be read, as
    in a query that is stopped meanwhile.
    """
    jvm = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(checkpoint, f"offsets/{batch_id}")
    try:
        stream = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()).open(path)
        try:
            text = str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
    except Py4JJavaError as failure:
        # Any other one is no answer: a batch that went in without a fingerprint would be refused when it comes again.
        if failure.java_exception.getClass().getName() != "java.io.FileNotFoundException":
            raise
        return ""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
