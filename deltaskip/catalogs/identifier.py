"""Names of tables and namespaces in a catalog."""

from __future__ import annotations

from collections.abc import Sequence

from deltaskip.arguments import text, unicode_text
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.log.file_names import FOLDERS_OF_TABLES
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import display_name, parse_names

Namespace = tuple[str, ...]
"""The parts of a namespace's name; () for the root of the catalog."""


@dataclass(frozen=True, slots=True, order=True)
class CatalogIdentifier:
    """The name of a table in a catalog.

    Attributes:
        namespace: The parts of the namespace's name; () for a table at the root of the catalog.
        name: The name of the table.
    """

    namespace: tuple[str, ...]
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "namespace", namespace_of(self.namespace))
        _checked("name", (text("name", self.name),))

    def __str__(self) -> str:
        return display_name([*self.namespace, self.name])


def identifier_of(ident: object, argument: str = "ident") -> CatalogIdentifier:
    """Return the identifier of a table from an argument.

    Args:
        ident: SQL text such as "sales.orders" or "sales.`odd.name`", a tuple of parts, or a CatalogIdentifier.
        argument: Name of the argument, for messages.

    Raises:
        InvalidArgument: The text is not a name, or a part of it is empty.
        InvalidArgumentType: The value is neither a str nor a tuple of str.
    """
    if isinstance(ident, CatalogIdentifier):
        return ident
    parts = _parts(argument, ident, "the name of a table, such as 'db.orders' or ('db', 'orders')")
    if not parts:
        raise InvalidArgument(f"{argument} must be the name of a table, such as 'db.orders', not {ident!r}.")
    return CatalogIdentifier(parts[:-1], parts[-1])


def namespace_of(namespace: object, argument: str = "namespace") -> Namespace:
    """Return the parts of a namespace's name from an argument.

    Args:
        namespace: SQL text such as "sales" or "a.b", or a tuple of parts; "" and () are the root of the catalog.
        argument: Name of the argument, for messages.

    Raises:
        InvalidArgument: The text is not a name, or a part of it is empty.
        InvalidArgumentType: The value is neither a str nor a tuple of str.
    """
    return _parts(argument, namespace, "the name of a namespace, such as 'db' or ('a', 'b')")


def check_new_namespace(parts: Sequence[str]) -> None:
    """Raise InvalidArgument if a new namespace has the name of a folder in a Delta table."""
    for part in parts:
        if part.lower() in FOLDERS_OF_TABLES:
            raise InvalidArgument(
                f"No namespace can be named {part}: in a Delta table this is the folder of its own files, so "
                f"that writers would mistake its contents; choose another name."
            )


def shown_namespace(namespace: Namespace) -> str:
    """Return a namespace as SQL text; "the root of the catalog" for ()."""
    return display_name(namespace) if namespace else "the root of the catalog"


def _parts(argument: str, value: object, expected: str) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            found = parse_names(unicode_text(argument, value), argument, InvalidArgument)
        except InvalidArgument as error:
            other = "" if "`" in value else ": other names are written in backticks, or as parts of a tuple"
            raise InvalidArgument(f"{argument} must be {expected}, not {value!r}{other}.") from error
        if len(found) > 1:
            raise InvalidArgument(f"{argument} must be {expected}, not {value!r}.")
        return _checked(argument, found[0] if found else ())
    if isinstance(value, Sequence) and all(isinstance(part, str) for part in value):
        return _checked(argument, tuple(value))
    raise InvalidArgumentType.of(argument, expected, value)


def _checked(argument: str, parts: Sequence[str]) -> tuple[str, ...]:
    """The parts of a name. Raises InvalidArgument for an empty one, and for characters that no file name can have."""
    for part in parts:
        if not unicode_text(argument, part) or "\0" in part:
            raise InvalidArgument(f"{argument} has an empty part, or the character NUL: {tuple(parts)!r}.")
    return tuple(parts)
