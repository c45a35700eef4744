"""A catalog of this package among those of a classic Spark session, so that Spark's own SQL reaches its tables.

Python objects implement the interfaces of Spark's connectors; Spark calls them back through py4j. They run in this
process, on the driver. Tasks run code of Spark or of its Python data sources only.
"""
