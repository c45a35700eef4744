"""Parses column lists, as in the parentheses of CREATE TABLE, and types.

# Spark 4.1, SqlBaseParser.g4: colDefinitionList, dataType
# PROTOCOL, Generated Columns, Identity Columns, Default Columns: the metadata keys of a column
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltaskip.errors import InvalidCollation, SchemaError
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.text.sql_text import SqlToken, quoted_name, sql_error, sql_tokens
from deltaskip.sparkexpr.types import data_types
from deltaskip.sparkexpr.types.data_types import BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, STRING, TIMESTAMP, TIMESTAMP_NTZ
from deltaskip.sparkexpr.types.geospatial import geospatial_of_sql
from deltaskip.sparkexpr.types.json import CHAR_VARCHAR_KEY, parse_type, simple_string
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.numerals import integer_of

DECIMAL_NAMES = ("decimal", "dec", "numeric")

TYPE_NAMES: dict[str, data_types.DataType] = {
    "boolean": BOOLEAN,
    "tinyint": data_types.BYTE,
    "byte": data_types.BYTE,
    "smallint": data_types.SHORT,
    "short": data_types.SHORT,
    "int": data_types.INTEGER,
    "integer": data_types.INTEGER,
    "bigint": data_types.LONG,
    "long": data_types.LONG,
    "float": FLOAT,
    "real": FLOAT,
    "double": DOUBLE,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
    "timestamp_nanos": data_types.NANOS,
    "timestamp_nanos_ntz": data_types.NANOS_NTZ,
    "string": STRING,
    "binary": BINARY,
    "variant": data_types.VARIANT,
    "void": data_types.VOID,
}

_LENGTH_NAMES = {"char": "char", "character": "char", "varchar": "varchar"}
# Types of other database systems.
_ELSEWHERE = {
    **dict.fromkeys(("text", "str", "object", "uuid", "json", "utf8", "nvarchar"), "STRING"),
    **dict.fromkeys(("datetime", "timestamptz", "datetime64"), "TIMESTAMP"),
    "bool": "BOOLEAN",
    **dict.fromkeys(("int64", "uint32"), "BIGINT"),
    **dict.fromkeys(("int32", "uint16", "int4"), "INT"),
    **dict.fromkeys(("float64", "float8"), "DOUBLE"),
    **dict.fromkeys(("float32", "float4"), "FLOAT"),
    **dict.fromkeys(("number", "money"), "DECIMAL(18, 2)"),
    **dict.fromkeys(("blob", "bytes", "bytea"), "BINARY"),
    "list": "ARRAY<STRING>",
}
_EXAMPLES = ("BIGINT", "INT", "DOUBLE", "DECIMAL(18, 2)", "BOOLEAN", "STRING", "DATE", "TIMESTAMP", "BINARY")
_CONSTRAINT_WORDS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "FOREIGN")
# Words that begin a column option, and so end the expression of DEFAULT.
_OPTION_WORDS = ("NOT", "DEFAULT", "GENERATED", "COMMENT", *_CONSTRAINT_WORDS)
_CLOSING = {"(": ")", "[": "]"}
_PLAIN = regex(r"[A-Za-z_]\w*")


def parse_columns(text: str, timestamp: data_types.DataType = TIMESTAMP) -> data_types.StructType:
    """Return the schema of a column list, such as `id BIGINT NOT NULL, y INT GENERATED ALWAYS AS (year(ts))`.

    NOT NULL, DEFAULT, COMMENT, COLLATE, GENERATED ALWAYS AS (expression) and GENERATED … AS IDENTITY become the
    protocol's metadata. Expressions keep their text as typed. CHAR(n) and VARCHAR(n) become strings with Spark's
    metadata key.

    Args:
        text: The column list.
        timestamp: The type that TIMESTAMP means in the session whose user wrote the text.

    Raises:
        SchemaError: The text is not a column list, Delta does not have a type, two names are equal ignoring case, or
            options of a column contradict each other.
    """
    return DdlParser(text, timestamp=timestamp).columns()


def timestamp_of(session: Any, text: str) -> data_types.DataType:
    """Return the type that TIMESTAMP means in column definitions that the user of a session wrote.

    The session is asked only if the text has the name; None is for definitions that no session reads.

    # Spark 3.5 to 4.3, spark.sql.timestampType; delta-spark 4.4 follows it, too
    """
    if session is None or "timestamp" not in text.lower():
        return TIMESTAMP
    named = str(session.conf.get("spark.sql.timestampType", "TIMESTAMP_LTZ"))
    return TIMESTAMP_NTZ if named.upper() == "TIMESTAMP_NTZ" else TIMESTAMP


def parse_type_text(text: str) -> data_types.DataType:
    """Parse a type in Spark SQL, such as `array<struct<a: int>>`.

    CHAR(n) and VARCHAR(n) become an UnknownType of that name, and collations are dropped: both belong to
    the metadata of a field. Raises SchemaError for other text.
    """
    parser = DdlParser(text)
    found = parser.type("", {})
    if not parser.at_end:
        raise parser.error("this is unexpected after the type")
    return found


def without_lengths(data_type: data_types.DataType) -> data_types.DataType:
    """Return the type with each char(n) and varchar(n), at any depth, replaced by string."""
    match data_type:
        case data_types.UnknownType() if data_type.name.partition("(")[0] in ("char", "varchar"):
            return STRING
        case data_types.ArrayType(element, contains_null):
            return data_types.ArrayType(without_lengths(element), contains_null)
        case data_types.MapType(key, value, value_contains_null):
            return data_types.MapType(without_lengths(key), without_lengths(value), value_contains_null)
        case data_types.StructType(fields):
            plain = (data_types.StructField(f.name, without_lengths(f.type), f.nullable, f.metadata) for f in fields)
            return data_types.StructType(tuple(plain))
        case _:
            return data_type


def exact_type_text(data_type: data_types.DataType) -> str:
    """Return the type as SQL text that means the same under every setting of a session, without collations.

    # Spark 3.5 to 4.3: the setting spark.sql.timestampType chooses one of two types for the name TIMESTAMP, and
    # reserved words are names only in backticks.
    """
    return _type_text(data_type, quoted_name, lambda t: "timestamp_ltz" if t == TIMESTAMP else simple_string(t))


def type_text(data_type: data_types.DataType) -> str:
    """Return the type as SQL text, with backticks around names that need them, and without collations."""
    return _type_text(data_type, lambda name: name if _PLAIN.fullmatch(name) else quoted_name(name), simple_string)


def _type_text(
    data_type: data_types.DataType, name_text: Callable[[str], str], plain_text: Callable[[data_types.DataType], str]
) -> str:
    """The type as SQL text. plain_text: Returns the text of a type without members."""

    def text(found: data_types.DataType) -> str:
        match found:
            case data_types.StructType(fields):
                return f"struct<{','.join(f'{name_text(f.name)}:{text(f.type)}' for f in fields)}>"
            case data_types.ArrayType(element):
                return f"array<{text(element)}>"
            case data_types.MapType(key, value):
                return f"map<{text(key)},{text(value)}>"
        return plain_text(found)

    return text(data_type)


class DdlParser:
    """A recursive descent parser.

    Args:
        text: The text.
        tokens: The tokens to read, if they are only a part of the text; None for all tokens.
        timestamp: The type that TIMESTAMP means.

    Attributes:
        timestamps: The tokens that have been read as TIMESTAMP, if it means another type.
    """

    def __init__(
        self, text: str, tokens: list[SqlToken] | None = None, timestamp: data_types.DataType = TIMESTAMP
    ) -> None:
        self.text = text
        self.timestamp = timestamp
        self.timestamps: list[SqlToken] = []
        self.tokens = sql_tokens(text) if tokens is None else tokens
        self.end = len(text) if tokens is None or not tokens else tokens[-1].end
        self.at = 0
        self.depth = 0

    @property
    def at_end(self) -> bool:
        """Whether no token is left."""
        return self.at >= len(self.tokens)

    @property
    def position(self) -> int:
        """The offset of the next token in the text."""
        return self.end if self.at_end else self.tokens[self.at].start

    def error(self, reason: str) -> SchemaError:
        """The error at the next token."""
        return sql_error(self.text, self.position, f"the text ends too early: {reason}" if self.at_end else reason)

    def columns(self) -> data_types.StructType:
        """Parse all columns up to the end."""
        fields: list[data_types.StructField] = []
        names: set[str] = set()
        while True:
            at = self.position
            field = self.column()
            if fold_name(field.name) in names:
                raise sql_error(self.text, at, f"the column {field.name} occurs twice")
            names.add(fold_name(field.name))
            fields.append(field)
            if self.at_end:
                return data_types.StructType(tuple(fields))
            self.expect(",")

    def column(self) -> data_types.StructField:
        """Parse a column: a name, a type, and options in any order."""
        # A column may have a keyword of constraints as its name.
        one, two = (self.tokens[at] if at < len(self.tokens) else None for at in (self.at + 1, self.at + 2))
        unnamed = one is not None and (one.is_symbol("(") or one.is_word("KEY"))
        if unnamed or (two is not None and two.is_word(*_CONSTRAINT_WORDS)):
            self.refuse_constraint()
        name = self.name("a column's name")
        collations: dict[str, str] = {}
        declared = self.type(name, collations)
        metadata: dict[str, Any] = {data_types.COLLATIONS_KEY: collations} if collations else {}
        plain = without_lengths(declared)
        if plain != declared:
            metadata[CHAR_VARCHAR_KEY] = type_text(declared)
        nullable = self.options(name, plain, metadata)
        return data_types.StructField(name, plain, nullable, metadata)

    def options(self, name: str, data_type: data_types.DataType, metadata: dict[str, Any]) -> bool:
        """Read the options of a column into its metadata; return whether it is nullable."""
        seen: set[str] = set()
        while not (self.at_end or self.peek_symbol(",")):
            start = self.position
            if self.take_words("NOT", "NULL"):
                option = "NOT NULL"
            elif self.take_words("COMMENT"):
                option = "COMMENT"
                metadata[data_types.COMMENT_KEY] = self.string("the comment")
            elif self.take_words("DEFAULT"):
                option = "DEFAULT"
                metadata[data_types.DEFAULT_KEY] = self.expression()
            elif self.peek_word("GENERATED"):
                option = "GENERATED"
                self.generated(name, data_type, metadata)
            else:
                self.refuse_constraint()
                raise self.error(f"this is not an option of the column {name}")
            if option in seen:
                raise sql_error(self.text, start, f"the column {name} has {option} twice")
            seen.add(option)
            if {"DEFAULT", "GENERATED"} <= seen:
                raise sql_error(self.text, start, f"the column {name} is generated, so it cannot have a DEFAULT")
        return "NOT NULL" not in seen

    def generated(self, name: str, data_type: data_types.DataType, metadata: dict[str, Any]) -> None:
        """Parse GENERATED ALWAYS AS (expression), or GENERATED ALWAYS | BY DEFAULT AS IDENTITY with options."""
        by_default = self.take_words("GENERATED", "BY", "DEFAULT", "AS")
        if not by_default and not self.take_words("GENERATED", "ALWAYS", "AS"):
            self.at += 1
            raise self.error("write GENERATED ALWAYS AS or GENERATED BY DEFAULT AS")
        if not self.take_words("IDENTITY"):
            if by_default:
                raise self.error("GENERATED BY DEFAULT AS is followed by IDENTITY")
            metadata[data_types.GENERATION_KEY] = self.parenthesized()
            return
        if data_type != data_types.LONG:
            raise sql_error(
                self.text,
                self.tokens[self.at - 1].start,
                f"the identity column {name} is of type {simple_string(data_type).upper()}, and must be BIGINT",
            )
        start, step = self.sequence() if self.peek_symbol("(") else (1, 1)
        metadata[f"{data_types.IDENTITY_PREFIX}start"] = start
        metadata[f"{data_types.IDENTITY_PREFIX}step"] = step
        metadata[f"{data_types.IDENTITY_PREFIX}allowExplicitInsert"] = by_default

    def sequence(self) -> tuple[int, int]:
        """Parse (START WITH n INCREMENT BY m), in any order; both are optional."""
        values: dict[str, int] = {}
        self.expect("(")
        while not self.peek_symbol(")"):
            words = ("START", "WITH") if self.peek_word("START") else ("INCREMENT", "BY")
            option = words[0]
            if option in values or not self.take_words(*words):
                raise self.error("write (START WITH n INCREMENT BY m)")
            values[option] = self.integer()
        self.expect(")")
        start, step = values.get("START", 1), values.get("INCREMENT", 1)
        if step == 0:
            raise sql_error(self.text, self.tokens[self.at - 2].start, "an identity column's increment cannot be 0")
        return start, step

    def type(self, path: str, collations: dict[str, str]) -> data_types.DataType:
        """Parse a type. `collations` receives the collations of its strings by their path from the nearest field."""
        self.depth += 1
        if self.depth > data_types.DEEPEST:
            raise self.error("the type is nested too deeply")
        found = self.type_here(path, collations)
        self.depth -= 1
        return found

    def type_here(self, path: str, collations: dict[str, str]) -> data_types.DataType:
        """Parse a type without a check of the depth."""
        token = self.next("a type")
        name = token.text.lower()
        if token.kind != "word":
            raise sql_error(self.text, token.start, "a type is expected here")
        if name == "array":
            return self.between_angles(lambda: data_types.ArrayType(self.type(f"{path}.element", collations)))
        if name == "map":
            return self.between_angles(lambda: self.map_type(path, collations))
        if name == "struct":
            # Without fields, the angle brackets are one token.
            if self.peek_symbol("<>"):
                self.at += 1
                return data_types.StructType(())
            return self.between_angles(self.struct_type)
        if name in _LENGTH_NAMES:
            return self.length_type(_LENGTH_NAMES[name], token)
        if name in DECIMAL_NAMES:
            return self.decimal(token)
        if name == "interval" and not self.at_end:
            return self.interval(token)
        if name in ("geometry", "geography"):
            return self.geospatial(name, token)
        if name not in TYPE_NAMES:
            known = _ELSEWHERE.get(name) or f"a type such as {', '.join(_EXAMPLES)}"
            quoted = " (a name with a blank stands in backticks)" if token.kind == "word" else ""
            raise sql_error(self.text, token.start, f"{token.text} is not a type of Delta Lake: write {known}{quoted}")
        if self.peek_symbol("(") or self.peek_symbol("<"):
            raise self.error(f"the type {token.text} has no parameters")
        if name == "string" and self.take_words("COLLATE"):
            self.collation(path, collations)
        if name == "timestamp" != simple_string(self.timestamp):
            self.timestamps.append(token)
            return self.timestamp
        return TYPE_NAMES[name]

    def map_type(self, path: str, collations: dict[str, str]) -> data_types.DataType:
        """Parse the types between the angle brackets of a map."""
        key = self.type(f"{path}.key", collations)
        self.expect(",")
        return data_types.MapType(key, self.type(f"{path}.value", collations))

    def struct_type(self) -> data_types.DataType:
        """Parse the fields between the angle brackets of a struct."""
        fields: list[data_types.StructField] = []
        names: set[str] = set()
        while not self.peek_symbol(">"):
            if fields:
                self.expect(",")
            at = self.position
            fields.append(self.nested_field())
            if fold_name(fields[-1].name) in names:
                raise sql_error(self.text, at, f"the field {fields[-1].name} occurs twice in one struct")
            names.add(fold_name(fields[-1].name))
        return data_types.StructType(tuple(fields))

    def nested_field(self) -> data_types.StructField:
        """Parse a field of a struct: name, optional colon, type, NOT NULL, COMMENT."""
        name = self.name("a field's name")
        if self.peek_symbol(":"):
            self.at += 1
        collations: dict[str, str] = {}
        data_type = self.type(name, collations)
        metadata: dict[str, Any] = {data_types.COLLATIONS_KEY: collations} if collations else {}
        nullable = not self.take_words("NOT", "NULL")
        if self.take_words("COMMENT"):
            metadata[data_types.COMMENT_KEY] = self.string("the comment")
        return data_types.StructField(name, data_type, nullable, metadata)

    def between_angles(self, inner: Callable[[], data_types.DataType]) -> data_types.DataType:
        """The type that `inner` reads between angle brackets."""
        self.expect("<")
        found = inner()
        self.expect(">")
        return found

    def length_type(self, name: str, token: SqlToken) -> data_types.DataType:
        """Parse char(n) or varchar(n), after the name."""
        if not self.peek_symbol("("):
            raise sql_error(self.text, token.start, f"the type {token.text} needs a length, such as {name}(10)")
        at = self.position
        numbers = self.numbers()
        if len(numbers) != 1 or numbers[0] < 1:
            raise sql_error(self.text, at, f"the length of {name} must be one positive number")
        return parse_type(f'"{name}({numbers[0]})"')

    def interval(self, token: SqlToken) -> data_types.DataType:
        """The type of the units after INTERVAL, such as DAY TO SECOND."""
        words = [self.next("a unit of the interval").text]
        if self.take_words("TO"):
            words += ["to", self.next("a unit of the interval").text]
        found = parse_type(f'"interval {" ".join(words).lower()}"') if all(map(str.isalpha, words)) else None
        if found not in data_types.COLUMN_INTERVALS:
            raise sql_error(self.text, token.start, "an interval is YEAR TO MONTH or DAY TO SECOND, or units of one")
        return found

    def geospatial(self, name: str, token: SqlToken) -> data_types.DataType:
        """Parse the SRID or the coordinate reference system (and edges) in parentheses after the name; it is needed."""
        found = geospatial_of_sql(name, self.parenthesized()) if self.peek_symbol("(") else None
        if found is None:
            example = f"{name.upper()}(4326) or {name.upper()}(OGC:CRS84)"
            raise sql_error(self.text, token.start, f"the type {token.text} needs one SRID or CRS, such as {example}")
        return found

    def decimal(self, token: SqlToken) -> data_types.DataType:
        """The type of the numbers (p, s) after the name; both are optional."""
        numbers = self.numbers() if self.peek_symbol("(") else [10]
        try:
            if len(numbers) > 2:
                raise SchemaError("A decimal has a precision and a scale.")
            return data_types.DecimalType(numbers[0], numbers[1] if len(numbers) > 1 else 0)
        except SchemaError as error:
            raise sql_error(self.text, token.start, str(error).rstrip(".")) from error

    def numbers(self) -> list[int]:
        """Parse one or more numbers in parentheses."""
        found: list[int] = []
        self.expect("(")
        while True:
            found.append(self.integer())
            if not self.peek_symbol(","):
                break
            self.at += 1
        self.expect(")")
        return found

    def collation(self, path: str, collations: dict[str, str]) -> None:
        """Parse the name of the collation of the string at the path."""
        token = self.next("the name of a collation")
        try:
            named = CollationId.named(token.text).canonical.without_version
        except InvalidCollation as error:
            raise sql_error(self.text, token.start, str(error).rstrip(".")) from error
        # COLLATIONS RFC: the default collation is not written.
        if not named.is_binary:
            collations[path] = str(named)

    def parenthesized(self) -> str:
        """The text between parentheses, as typed."""
        opening = self.position
        self.expect("(")
        first = self.at
        closing = self.closing(first - 1)
        self.at = closing + 1
        text = self.text[opening + 1 : self.tokens[closing].start].strip()
        if closing == first:
            raise sql_error(self.text, opening, "the expression is empty")
        return text

    def expression(self) -> str:
        """The text up to the next option or column, as typed."""
        first = self.at
        while not (self.at_end or self.peek_symbol(",") or (self.at > first and self.begins_option())):
            token = self.tokens[self.at]
            if token.kind == "symbol" and token.text in _CLOSING:
                self.at = self.closing(self.at)
            elif token.kind == "symbol" and token.text in _CLOSING.values():
                raise self.error("this closes nothing")
            self.at += 1
        if self.at == first:
            raise self.error("the expression is empty")
        return self.text[self.tokens[first].start : self.tokens[self.at - 1].end]

    def begins_option(self) -> bool:
        """Whether the next token begins a column option, and not a part of an expression such as IS NOT NULL."""
        token, before = self.tokens[self.at], self.tokens[self.at - 1]
        if not token.is_word(*_OPTION_WORDS) or before.is_symbol("."):
            return False
        follows = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        if token.is_word("NOT"):
            return follows is not None and follows.is_word("NULL") and not before.is_word("IS")
        if token.is_word("COMMENT"):
            return follows is not None and follows.kind == "string"
        return True

    def closing(self, opening: int) -> int:
        """The index of the token that closes the parenthesis at index `opening`."""
        expected: list[str] = []
        for index in range(opening, len(self.tokens)):
            token = self.tokens[index]
            if token.kind != "symbol":
                continue
            if token.text in _CLOSING:
                expected.append(_CLOSING[token.text])
            elif token.text in _CLOSING.values():
                if expected.pop() != token.text:
                    break
                if not expected:
                    return index
        raise sql_error(self.text, self.tokens[opening].start, "the parenthesis is not closed")

    def refuse_constraint(self) -> None:
        """Raise SchemaError if the next token begins a constraint."""
        if self.peek_word(*_CONSTRAINT_WORDS):
            raise self.error("constraints are not part of a column list; add CHECK constraints to the table afterwards")

    def name(self, what: str) -> str:
        """Read a word or a quoted name. what: The expected token, for the error."""
        token = self.next(what)
        if token.kind not in ("word", "name") or not token.text:
            raise sql_error(self.text, token.start, f"{what} is expected here")
        follows = self.tokens[self.at] if not self.at_end else None
        if token.kind == "word" and follows is not None and follows.is_symbol("-") and follows.start == token.end:
            raise self.error(f"put the name in backticks, as in `{token.text}-…`")
        return token.text

    def string(self, what: str) -> str:
        """Read a string and return its value. what: The expected token, for the error."""
        token = self.next(what)
        if token.kind != "string":
            raise sql_error(self.text, token.start, f"{what} must be a string in quotes")
        return token.text

    def integer(self) -> int:
        """Read an integer with an optional sign."""
        negative = self.peek_symbol("-")
        if negative or self.peek_symbol("+"):
            self.at += 1
        token = self.next("a number")
        if token.kind != "number" or not token.text.isdigit():
            raise sql_error(self.text, token.start, "a whole number is expected here")
        value = -integer_of(token.text) if negative else integer_of(token.text)
        if not data_types.LONG_MIN <= value <= data_types.LONG_MAX:
            raise sql_error(self.text, token.start, "the number does not fit a BIGINT")
        return value

    def next(self, what: str) -> SqlToken:
        """Read the next token. what: The expected token, for the error at the end of the text."""
        if self.at_end:
            raise sql_error(self.text, self.end, f"{what} is missing")
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, symbol: str) -> None:
        """Read a symbol. Raises SchemaError if the next token is different."""
        if not self.peek_symbol(symbol):
            raise sql_error(self.text, self.position, f"{symbol!r} is expected here")
        self.at += 1

    def peek_symbol(self, symbol: str) -> bool:
        """Whether the next token is this symbol."""
        return not self.at_end and self.tokens[self.at].is_symbol(symbol)

    def peek_word(self, *words: str) -> bool:
        """Whether the next token is one of these words."""
        return not self.at_end and self.tokens[self.at].is_word(*words)

    def take_words(self, *words: str) -> bool:
        """Read the next tokens if they are these words; return whether they were."""
        if self.at + len(words) > len(self.tokens):
            return False
        if not all(self.tokens[self.at + i].is_word(word) for i, word in enumerate(words)):
            return False
        self.at += len(words)
        return True
