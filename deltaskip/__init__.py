"""deltaskip reads, prunes and writes Delta tables from Python, without delta-spark.

`__init__.pyi` lists the public names; a name is imported when it is first used.
"""

import lazy_loader

__version__ = "0.3.0"

_listed, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Import a public name; the error for another one says what to write."""
    import deltaskip.compiled  # noqa: F401

    try:
        return _listed(name)
    except AttributeError as error:
        if name.startswith("_"):
            raise
        from deltaskip.hints import no_name

        raise no_name(__name__, name, __all__) from error
