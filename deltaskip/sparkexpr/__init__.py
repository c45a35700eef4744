"""Spark SQL's expressions over Arrow data, without Spark.

`__init__.pyi` lists the names and modules that the rest of deltaskip, and users, import; a name is imported when it is
first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
