"""The object-store settings of a catalog as those of Hadoop's S3A, for Spark's own readers."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from sqlext.errors import UnsupportedError
from sqlext.spark.shim.java_objects import java_context, jvm
from sqlext.storage.location import OBJECT_SCHEMES, is_object

_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_PROVIDERS = "org.apache.hadoop.fs.s3a"
_SETTINGS = {
    "s3.endpoint": "endpoint",
    "client.region": "endpoint.region",
    "s3.region": "endpoint.region",
    "s3.path-style-access": "path.style.access",
    "s3.access-key-id": "access.key",
    "s3.secret-access-key": "secret.key",
    "s3.session-token": "session.token",
}


def configure_s3a(spark: SparkSession, warehouse: str, options: Mapping[str, str]) -> None:
    """Sets the catalog's settings for the bucket of `warehouse` in Spark's Hadoop configuration.

    Hadoop keeps the credentials of a cached file system. Its cache is therefore disabled if there is a session token,
    which expires. Raises UnsupportedError JAR_REQUIRED if the JVM has no hadoop-aws.
    """
    if not is_object(warehouse):
        return
    hadoop = java_context(spark.sparkContext).hadoopConfiguration()
    if hadoop.getClassByNameOrNull(_S3A) is None:
        version = jvm(spark).org.apache.hadoop.util.VersionInfo.getVersion()
        raise UnsupportedError(
            "JAR_REQUIRED", feature=f"Spark's reading of {warehouse}", jar=f"org.apache.hadoop:hadoop-aws:{version}"
        )
    for scheme in OBJECT_SCHEMES:
        hadoop.set(f"fs.{scheme}.impl", _S3A)
        if "s3.session-token" in options:
            hadoop.set(f"fs.{scheme}.impl.disable.cache", "true")
    bucket = warehouse.partition("://")[2].partition("/")[0]
    for name, value in bucket_settings(options).items():
        hadoop.set(f"fs.s3a.bucket.{bucket}.{name}", value)


def bucket_settings(options: Mapping[str, str]) -> Mapping[str, str]:
    """S3A's settings of one bucket, by their names without the prefix `fs.s3a.bucket.<bucket>.`."""
    settings = {name: options[key] for key, name in _SETTINGS.items() if key in options}
    if "access.key" in settings:
        kind = "TemporaryAWSCredentialsProvider" if "session.token" in settings else "SimpleAWSCredentialsProvider"
        settings["aws.credentials.provider"] = f"{_PROVIDERS}.{kind}"
    if settings.get("endpoint", "").startswith("http:"):
        settings["connection.ssl.enabled"] = "false"
    return settings
