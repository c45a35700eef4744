"""deltaskip reads, prunes and writes Delta tables from Python, without delta-spark.

`__init__.pyi` lists the public names; a name is imported when it is first used.
"""

from deltaskip import hints

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = hints.attach_stub(__name__, __file__)
