"""The compiled functions of Spark's expressions, and the views of Arrow data that all kernels use.

`__init__.pyi` lists the names that others import; a name is imported when it is first used.
"""

import lazy_loader

import deltaskip.compiled  # noqa: F401

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
