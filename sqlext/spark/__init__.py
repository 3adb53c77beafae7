"""All calls between Python and Spark's JVM, in both directions."""
