"""Parses function calls: arguments, keywords between arguments, and clauses after a call."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator
from typing import Any, TypeAlias

from deltaskip.errors import InvalidCollation, SchemaError
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.functions.by_name import PRESENT, function_node
from deltaskip.sparkexpr.text.pieces import COMPARISON, NOT_OF_ONE_ROW, Given, Mark, ReadingState, Rule
from deltaskip.sparkexpr.text.sql_text import SqlToken
from deltaskip.sparkexpr.text.tokens import NAMES, Tokens
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.data_types import STRING, VOID
from deltaskip.sparkexpr.types.ddl import DECIMAL_NAMES, TYPE_NAMES
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.numerals import integer_of

# Keywords that separate arguments, and whether commas may separate them instead.
_SEPARATORS = {
    "SUBSTRING": (("FROM", "FOR"), True),
    "SUBSTR": (("FROM", "FOR"), True),
    "OVERLAY": (("PLACING", "FROM", "FOR"), False),
    "POSITION": (("IN",), False),
    "TRIM": (("FROM",), False),
}
_TRIMS = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
DATE_UNITS = frozenset(
    ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"]
)
_ADDING = frozenset(("TIMESTAMPADD", "DATEADD", "DATE_ADD"))
_COUNTING = frozenset(("TIMESTAMPDIFF", "DATEDIFF", "DATE_DIFF"))
_UNIT_CALLS = frozenset((*_ADDING, *_COUNTING, "TIMEDIFF"))


class Calls(ReadingState):
    """The rules of function calls. Each rule begins at the parenthesis after the name."""

    @abstractmethod
    def _expression(self, given: Given | None = None) -> Rule: ...

    @abstractmethod
    def _value(self, least: int, given: Given | None = None) -> Rule: ...

    def _call(self, parts: list[str], key: str, mark: Mark) -> Rule:
        """The arguments of a function. key: The function name in upper case; "" if it is quoted or qualified."""
        tokens = self.tokens
        name = parts[-1].lower()
        if key:
            self._check_kind(name, mark[0])
        tokens.advance()
        first = tokens.token
        plain = len(parts) == 1
        args: list[n.Node] = []
        words, commas = _SEPARATORS.get(key, ((), True))
        used: list[str] = []
        if tokens.key in ("DISTINCT", "ALL") and self._begins_operand(1):
            tokens.advance()
            plain = False
        named: dict[int, str] = {}
        while tokens.key != ")" or args:
            plain &= bool(used) or self._begins_plainly()
            bound = self._bind_names()
            ahead = words if commas or len(used) == len(args) else ()
            value: n.Node = yield self._argument(ahead, bool(used))
            for names in reversed(bound):
                self._bound.subtract([name.lower() for name in names])
                value = n.Lambda(names, value)
            args.append(value)
            if key == "STRUCT" and (field := self._aliased()):
                named[len(args) - 1] = field
            plain &= not self._qualified() and len(bound) < 2
            following = words[len(used) :] if commas else words[len(used) : len(used) + 1]
            if tokens.key in following and (commas or len(used) == len(args) - 1):
                used.append(tokens.key)
            elif tokens.key != "," or (used and not commas):
                break
            tokens.advance()
        if key in ("CAST", "TRY_CAST") and tokens.key == "AS" and len(args) == 1:
            return (yield from self._cast(args[0], key, mark))
        if used == ["PLACING"]:
            raise tokens.unexpected("FROM")
        tokens.expect(")", "a parenthesis is not closed")
        plain &= not self._windowed()
        if name in NOT_OF_ONE_ROW or name in PRESENT or (not args and f"{name}()" in PRESENT):
            self.beyond.append((mark[0], tokens.end))
        if key in _UNIT_CALLS and len(args) == 3 and plain:
            return self._moved(key, args, first, mark)
        if not plain:
            return self._piece(mark)
        if key and not used:
            self._check_count(name, len(args), mark[0])
        if key == "STRUCT" and args:
            from deltaskip.sparkexpr.functions.elements import struct_node

            return struct_node(*args, names=named)
        return function_node(name, tuple(args))

    def _argument(self, words: tuple[str, ...], separated: bool) -> Rule:
        """An argument, without the names of a lambda function before it.

        words: Keywords that may follow the argument and do not begin a predicate there.
        separated: Whether such a keyword precedes the argument.
        """
        tokens = self.tokens
        if separated:
            return (yield from self._value(COMPARISON))
        if tokens.take("*"):
            return n.Literal(None, VOID)
        given: Given | None = None
        if words and tokens.key not in ("NOT", "!", "EXISTS"):
            mark = self._mark()
            given = (yield from self._value(COMPARISON)), mark
            if tokens.key in words:
                return given[0]
        value = yield from self._expression(given)
        if tokens.key in words:
            raise tokens.unexpected()
        return value

    def _begins_plainly(self) -> bool:
        """Whether the next argument is a value, neither a star nor a named argument."""
        tokens = self.tokens
        after = tokens.peek()
        if tokens.key == "*":
            if not (after.is_symbol(",") or after.is_symbol(")")):
                raise tokens.no_operand()
            return False
        if tokens.token.kind in NAMES and after.is_symbol("=>"):
            tokens.advance()
            tokens.advance()
            return False
        return True

    def _names_of_lambda(self) -> int:
        """The number of tokens before the arrow of a lambda function; 0 for other arguments."""
        tokens = self.tokens
        if tokens.token.kind in NAMES:
            return 1 if tokens.peek().is_symbol("->") else 0
        if tokens.key != "(" or tokens.peek().kind not in NAMES:
            return 0
        count = 2
        while tokens.peek(count).is_symbol(",") and tokens.peek(count + 1).kind in NAMES:
            count += 2
        return count + 1 if tokens.peek(count).is_symbol(")") and tokens.peek(count + 1).is_symbol("->") else 0

    def _bind_names(self) -> list[tuple[str, ...]]:
        """Read the names of a lambda function and its arrow. The names are not columns in the body."""
        found: list[tuple[str, ...]] = []
        while count := self._names_of_lambda():
            tokens = [self.tokens.advance() for _ in range(count + 1)]
            found.append(tuple([token.text for token in tokens if token.kind in NAMES]))
            self._bound.update([name.lower() for name in found[-1]])
        return found

    def _qualified(self) -> bool:
        """Read IGNORE NULLS or RESPECT NULLS after an argument; return whether it was present."""
        tokens = self.tokens
        if tokens.key in ("IGNORE", "RESPECT") and tokens.peek().is_word("NULLS"):
            tokens.advance()
            tokens.advance()
            return True
        return False

    def _aliased(self) -> str:
        """Read `AS name` after a field of a row; return the name, or "" without AS."""
        tokens = self.tokens
        if not (tokens.key == "AS" and tokens.peek().kind in NAMES):
            return ""
        tokens.advance()
        return tokens.advance().text

    def _windowed(self) -> bool:
        """Read WITHIN GROUP, FILTER, IGNORE NULLS and OVER after a call; return whether any of them was present."""
        tokens = self.tokens
        start = tokens.token
        if tokens.key == "WITHIN" and tokens.peek().is_word("GROUP"):
            tokens.advance()
            tokens.advance()
            self._skip()
        if tokens.key == "FILTER" and tokens.peek().is_symbol("("):
            tokens.advance()
            self._skip()
        if tokens.key in ("IGNORE", "RESPECT") and tokens.peek().is_word("NULLS"):
            tokens.advance()
            tokens.advance()
        if tokens.key == "OVER":
            tokens.advance()
            if tokens.token.kind in NAMES:
                tokens.advance()
            else:
                self._skip()
        return tokens.token is not start

    def _cast(self, value: n.Node, key: str, mark: Mark) -> Rule:
        """`AS type)` after the value of a cast."""
        self.tokens.advance()
        type_ = yield from self._type()
        self.tokens.expect(")", "a parenthesis is not closed")
        return self._piece(mark) if type_ is None else n.Cast(value, type_, key == "TRY_CAST")

    def _type(self) -> Generator[Rule, Any, Type]:
        return (yield from read_type(self.tokens))

    def _extract(self, mark: Mark) -> Rule:
        """(field FROM value)."""
        from deltaskip.sparkexpr.functions.times import FIELDS

        tokens = self.tokens
        tokens.advance()
        field = tokens.advance().text
        tokens.advance()
        value = yield self._value(COMPARISON)
        tokens.expect(")", "a parenthesis is not closed")
        known = field.upper() in FIELDS
        return function_node("date_part", (n.Literal(field, STRING), value)) if known else self._piece(mark)

    def _trim(self, mark: Mark) -> Rule:
        """([BOTH | LEADING | TRAILING] [characters] FROM value)."""
        tokens = self.tokens
        if tokens.peek(2).is_symbol(")") or tokens.peek(2).is_symbol(",") or tokens.peek(2).is_symbol("."):
            return (yield from self._call(["trim"], "TRIM", mark))
        tokens.advance()
        name = "trim"
        args: list[n.Node] = []
        if tokens.key != "FROM":
            name = _TRIMS[tokens.advance().text.upper()]
        if tokens.key != "FROM":
            args.append((yield self._value(COMPARISON)))
        tokens.expect("FROM")
        args.append((yield self._value(COMPARISON)))
        tokens.expect(")", "a parenthesis is not closed")
        return function_node(name, tuple(args))

    def _moved(self, key: str, args: list[n.Node], first: SqlToken, mark: Mark) -> n.Node:
        """A call of (unit, quantity, time), whose first argument is a word such as DAY, not a column."""
        if first.kind == "string" and isinstance(args[0], n.Literal) and args[0].type == STRING:
            raise self.tokens.error("write the unit without quotes, such as DAY", first.start)
        if args[0] == n.Column((first.text,)) and first.is_word(*DATE_UNITS):
            if len(self._found) > mark[1] and self._found[mark[1]] == (first.text,):
                self._found[mark[1]] = ()
            name = "timestampadd" if key in _ADDING else "timestampdiff" if key in _COUNTING else ""
            if name:
                return n.Call(name, (n.Literal(first.text.upper(), STRING), *args[1:]))
        return self._piece(mark)

    def _identifier(self, mark: Mark) -> Rule:
        """IDENTIFIER(text): a column or the name of a function."""
        tokens = self.tokens
        tokens.advance()
        named = tokens.token.text if tokens.token.kind == "string" else ""
        yield self._expression()
        tokens.expect(")", "a parenthesis is not closed")
        if tokens.key == "(":
            return (yield from self._call(["identifier", "identifier"], "", mark))
        if named:
            self._found.append(tuple(part.strip("`") for part in named.split(".")))
        return self._piece(mark)


Type: TypeAlias = t.DataType | None
"""A rule that returns a type, or None for a Spark type to which deltaskip cannot cast, such as char(3)."""
_Rule: TypeAlias = Generator[Any, Any, Type]

_LENGTHS = ("char", "character", "varchar")
_AREAS = ("geography", "geometry")
_MONTHS, _TIMES = ("YEAR", "MONTH"), ("DAY", "HOUR", "MINUTE", "SECOND")


def read_type(tokens: Tokens) -> _Rule:
    """Read a type. Raises PredicateError if the text is not a type."""
    token = tokens.token
    if token.kind not in NAMES:
        raise tokens.error("a type is missing") if token.kind == "end" else tokens.unexpected()
    tokens.advance()
    name = token.text.lower()
    if name in ("array", "map", "struct"):
        return (yield from _inner_types(tokens, name))
    if name in DECIMAL_NAMES:
        sizes = _sizes(tokens)
        try:
            return t.DecimalType(*(sizes or [10]), *([0] if len(sizes) < 2 else []))
        except (SchemaError, TypeError) as error:
            raise tokens.error(str(error).rstrip("."), token.start) from error
    if name in _LENGTHS:
        if len(_sizes(tokens)) != 1:
            raise tokens.error(f"the type {token.text} needs a length, such as {name}(10)", token.start)
        return None
    if name == "interval":
        _interval_fields(tokens)
        return None
    if name in _AREAS:
        tokens.expect("(")
        tokens.advance()
        tokens.expect(")")
        return None
    if name == "time":
        _sizes(tokens)
        _without_zone(tokens)
        return None
    if name not in TYPE_NAMES:
        raise tokens.error(f"{token.text} is not a type of Spark SQL", token.start)
    if name == "timestamp" and _without_zone(tokens):
        return t.TIMESTAMP_NTZ
    if name == "string" and tokens.key == "COLLATE":
        tokens.advance()
        try:
            CollationId.named(tokens.token.text)
        except InvalidCollation as error:
            raise tokens.error(str(error).rstrip(".")) from error
        tokens.advance()
        if tokens.key == ".":
            raise tokens.error("the name of a collation has no dots")
        return None
    found = TYPE_NAMES[name]
    return None if found == t.VOID else found


def _inner_types(tokens: Tokens, name: str) -> _Rule:
    """The types between angle brackets, if any."""
    if name == "struct" and tokens.take("<>"):
        return None
    if not tokens.take("<"):
        return None
    found: Type = None
    if name == "array":
        element: Type = yield read_type(tokens)
        found = None if element is None else t.ArrayType(element)
    elif name == "map":
        key: Type = yield read_type(tokens)
        tokens.expect(",")
        value: Type = yield read_type(tokens)
        found = None if key is None or value is None else t.MapType(key, value)
    elif tokens.key != ">":
        found = yield from _fields(tokens)
    tokens.expect(">")
    return found


def _fields(tokens: Tokens) -> _Rule:
    """name[:] type [NOT NULL] [COMMENT text], …"""
    found: dict[str, t.StructField] = {}
    plain = True
    while True:
        if tokens.token.kind not in NAMES:
            raise tokens.unexpected("a field's name")
        name = tokens.advance().text
        tokens.take(":")
        type_: Type = yield read_type(tokens)
        nullable = not tokens.take("NOT")
        if not nullable:
            tokens.expect("NULL")
        if tokens.take("COMMENT"):
            if tokens.token.kind != "string":
                raise tokens.unexpected("the comment")
            tokens.advance()
        plain &= type_ is not None and fold_name(name) not in found
        if type_ is not None:
            found[fold_name(name)] = t.StructField(name, type_, nullable)
        if not tokens.take(","):
            return t.StructType(tuple(found.values())) if plain else None


def _sizes(tokens: Tokens) -> list[int]:
    """The integers in parentheses; an empty list without parentheses."""
    if not tokens.take("("):
        return []
    found: list[int] = []
    while True:
        if not (tokens.token.kind == "number" and tokens.token.text.isdigit()):
            raise tokens.unexpected("a number")
        found.append(integer_of(tokens.advance().text))
        if not tokens.take(","):
            break
    tokens.expect(")", "a parenthesis is not closed")
    return found


def _interval_fields(tokens: Tokens) -> None:
    """[YEAR [TO MONTH] | DAY [TO SECOND] | …]"""
    for units in (_MONTHS, _TIMES):
        if tokens.key in units:
            tokens.advance()
            if tokens.key == "TO":
                tokens.advance()
                if tokens.key not in units[1:]:
                    raise tokens.unexpected(units[-1])
                tokens.advance()


def _without_zone(tokens: Tokens) -> bool:
    """Read WITHOUT TIME ZONE if it is next; return whether it was."""
    if not (tokens.key == "WITHOUT" and tokens.peek().is_word("TIME") and tokens.peek(2).is_word("ZONE")):
        return False
    for _ in range(3):
        tokens.advance()
    return True
