"""deltaskip: which files of a Delta table can contain rows that match a predicate, read just those through Spark.

`__init__.pyi` lists the public names; a name is imported when it is first used.
"""

import lazy_loader

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
