"""A catalog of this package installed in a classic Spark session, so that Spark SQL reaches its tables.

Python objects implement the interfaces of Spark's connectors; Spark calls them back through py4j. They run in this
process, on the driver. Tasks run only code of Spark or of its Python data sources.
"""
