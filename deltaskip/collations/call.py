"""The package deltaskip.collations as a function: `deltaskip.collations("icu.UNICODE_CI.77.1")`.

A package has the name that the function has, and Python binds one thing to a name. So the package's module object
itself can be called; imports from it (`from deltaskip.collations.identifier import CollationId`) are as ever.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import cast

from deltaskip.collations.collation import Collation
from deltaskip.collations.identifier import CollationId
from deltaskip.collations.registry import evaluator

__all__ = ["CollationRoom", "collation"]


class CollationRoom(ModuleType):
    """The module deltaskip.collations, which can be called."""

    def __call__(self, identifier: str | CollationId) -> Collation:
        """The collation that `identifier` names, by a library of exactly its version.

        identifier: such as "icu.UNICODE_CI.77.1" or "spark.UTF8_LCASE.77.1", in any letter case. Without a version it
        is that of Spark 4.1, 77.1, if it is here, else the newest that is; the answer's `id` says which.
        Raises InvalidCollation for an identifier or name that is none, CollationUnavailable where no library of the
        version is here or knows the locale; it names the versions that are.
        """
        return evaluator(identifier)


sys.modules["deltaskip.collations"].__class__ = CollationRoom

collation = cast(CollationRoom, sys.modules["deltaskip.collations"])
