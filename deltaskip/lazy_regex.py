"""Regular expressions that are compiled when they are used for the first time.

A first plan imports about ninety of them, uses few, and would spend a tenth of its time to compile them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

__all__ = ["regex"]

if TYPE_CHECKING:
    from re import compile as regex
else:

    class regex:  # noqa: N801 - used as a function
        """The pattern of `re.compile`, by its methods and attributes; functions of `re` do not accept it.

        Args:
            pattern: The text of the pattern.
            flags: Flags of `re`.
        """

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self.pattern, self._flags = pattern, flags

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            compiled = re.compile(self.pattern, self._flags)
            # From now on Python finds the methods here.
            for each in ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"):
                self.__dict__[each] = getattr(compiled, each)
            return getattr(compiled, name)

        def __repr__(self) -> str:
            return f"regex({self.pattern!r})"
