"""Statistics of data files: their layout in the log, their values, and their computation from Parquet files.

`__init__.pyi` lists the names; a name is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
