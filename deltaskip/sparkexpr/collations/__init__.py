"""Collations: their identifiers, the libraries that evaluate them, and the versions that tables name.

`__init__.pyi` lists the names that others import; a name is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
