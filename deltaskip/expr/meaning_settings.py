"""The settings of Spark on which the meaning of an expression depends. deltaskip has the meaning of their defaults.

A row of SETTINGS says what is not known under another value: a text that has certain characters, some nodes, or every
expression. A setting below PREFIXES without a row may change anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from deltaskip.errors import DeltaSkipError
from deltaskip.expr.bind import bind_expression
from deltaskip.expr.coerce import type_of
from deltaskip.expr.nodes import ARITHMETIC, Between, Call, Cast, IsNull, Like, Node, StartsWith
from deltaskip.records import dataclass
from deltaskip.schema.types import STRING, TIMESTAMP, DataType, DecimalType, StructType, nested_types

PREFIXES = ("spark.sql.ansi.", "spark.sql.parser.", "spark.sql.legacy.")
_ARITHMETIC = (*ARITHMETIC, "try_add", "try_subtract", "try_multiply", "try_divide", "try_mod", "mod", "pmod")
"""Settings below these keys decide how Spark reads and evaluates SQL."""

NodeRule = Callable[[Node, StructType | None], bool]
"""Whether the meaning of a node depends on a setting, apart from its children; see `Setting.changes`."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of Spark, and what its values other than the understood ones change.

    Attributes:
        key: The key.
        understood: The values, in lower case, under which an expression has the meaning that deltaskip gives it.
        texts: The texts that the setting may change, wherever the pattern matches; None for none.
        nodes: The nodes that it may change; None for none.
        whole: Whether it may change every expression.
    """

    key: str
    understood: tuple[str, ...] = ("false",)
    texts: re.Pattern[str] | None = None
    nodes: NodeRule | None = None
    whole: bool = False

    def reason(self, value: str) -> str:
        """Return why an expression is left to the session."""
        return f"its meaning depends on {self.key}, which is {value}"

    def changes_text(self, text: str) -> bool:
        """Return whether a text may have another meaning as a whole."""
        return self.whole or (self.texts is not None and self.texts.search(text) is not None)

    def changes(self, node: Node, schema: StructType | None) -> bool:
        """Return whether an unbound node may have another meaning, apart from its children.

        schema: The columns that it uses; None if their types are not known.
        """
        return self.whole or (self.nodes is not None and self.nodes(node, schema))


def setting_of(key: str) -> Setting | None:
    """Return the row of a key; None if the setting cannot matter."""
    return _BY_KEY.get(key) or (Setting(key, (), whole=True) if key.startswith(PREFIXES) else None)


def settings_that_differ(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the settings among those given, with their values, under which some expression has another meaning."""
    found = []
    for key, value in given.items():
        if key.startswith("spark.sql."):
            row = setting_of(key)
            if row is not None and value.strip().lower() not in row.understood:
                found.append((key, value))
    return tuple(sorted(found))


def function_of(node: Node) -> str | None:
    """Return the lower-case name of the function that a node stands for; None for syntax without a function."""
    match node:
        case Call(name):
            return name.lower()
        case StartsWith():
            return "startswith"
        case Like(_, _, _, insensitive):
            return "ilike" if insensitive else "like"
        case IsNull():
            return "isnull"
        case Between():
            return "between"
    return None


def _calls(names: str) -> NodeRule:
    """The calls of these functions."""
    called = frozenset(names.split())
    return lambda node, _: function_of(node) in called


def _casts_to(*types: DataType, calls: str = "") -> NodeRule:
    """Casts to types that are or contain one of these, and calls of these functions."""
    called = _calls(calls)

    def rule(node: Node, schema: StructType | None) -> bool:
        return (isinstance(node, Cast) and any(each in types for each in nested_types(node.type))) or called(
            node, schema
        )

    return rule


def _decimal_arithmetic(node: Node, schema: StructType | None) -> bool:
    """Arithmetic of decimals."""
    if not (isinstance(node, Call) and node.name in _ARITHMETIC):
        return False
    if schema is None:
        return True
    try:
        found = type_of(bind_expression(node, schema))
    except DeltaSkipError:
        return True
    return found is None or isinstance(found, DecimalType)


SETTINGS = (
    Setting("spark.sql.ansi.enabled", ("true", "false")),
    Setting("spark.sql.ansi.doubleQuotedIdentifiers", texts=re.compile('"')),
    Setting("spark.sql.parser.escapedStringLiterals", texts=re.compile(r"""\\|''|\"\"""")),
    Setting("spark.sql.legacy.consecutiveStringLiterals.enabled", texts=re.compile(r"""''|\"\"""")),
    Setting("spark.sql.legacy.exponentLiteralAsDecimal.enabled", texts=re.compile(r"[0-9.][eE]")),
    Setting("spark.sql.legacy.bangEqualsNot", texts=re.compile("!")),
    Setting(
        "spark.sql.timestampType",
        ("timestamp_ltz",),
        nodes=_casts_to(
            TIMESTAMP,
            calls="to_timestamp try_to_timestamp make_timestamp try_make_timestamp from_json from_csv from_xml "
            "variant_get try_variant_get",
        ),
    ),
    Setting("spark.sql.decimalOperations.allowPrecisionLoss", ("true",), nodes=_decimal_arithmetic),
    Setting("spark.sql.jsonGenerator.ignoreNullFields", ("true",), nodes=_calls("to_json")),
    Setting("spark.sql.legacy.followThreeValuedLogicInArrayExists", ("true",), nodes=_calls("exists any_match")),
    Setting("spark.sql.legacy.castComplexTypesToString.enabled", nodes=_casts_to(STRING)),
    Setting("spark.sql.legacy.negativeIndexInArrayInsert", nodes=_calls("array_insert")),
    Setting("spark.sql.chunkBase64String.enabled", ("true",), nodes=_calls("base64 to_char to_varchar")),
)
"""One row for each setting that an expression's meaning depends on."""

_BY_KEY = {each.key: each for each in SETTINGS}
