"""The Python data source `deltaskip`: `spark.read.format("deltaskip")`, streams and writes; Spark 4.0 and newer."""
