"""Spark SQL text to predicate nodes.

The grammar of Spark's expressions is followed here itself, because its precedence is not that of other dialects: a
predicate such as IS NULL or BETWEEN applies to a whole comparison (`a = b IS NULL` is `(a = b) IS NULL`), all
comparisons bind alike from the left, and functions mean what their arguments' order says. What has no node becomes
Opaque; text that this grammar does not know is put to sqlglot, which decides between Opaque and an error.

# Spark 4.1, SqlBaseParser.g4: expression, booleanExpression, valueExpression, primaryExpression
"""

from __future__ import annotations

from deltaskip.expr.calls import call
from deltaskip.expr.cursor import Cursor, Unknown
from deltaskip.expr.datetimes import (
    has_zone,
    is_special_date,
    parse_date,
    parse_timestamp,
    parse_timestamp_ntz,
    zone_of,
)
from deltaskip.expr.lexer import Token, number_literal, predicate_error, string_value, tokenize
from deltaskip.expr.nodes import (
    MAX_DEPTH,
    And,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Opaque,
    Or,
    deeper_than,
)
from deltaskip.expr.opaque import is_valid_sql, opaque
from deltaskip.expr.typenames import DECIMAL_NAMES, TYPE_NAMES
from deltaskip.schema.types import BINARY, BOOLEAN, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, DataType, DecimalType

__all__ = ["parse_sql"]

TRUE, FALSE = Literal(True, BOOLEAN), Literal(False, BOOLEAN)

_COMPARISONS = {"=": "=", "==": "=", "<=>": "<=>", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", "!>": "<=", ">": ">"}
_COMPARISONS |= {">=": ">=", "!<": ">="}

# Binary operators with how tightly they bind; all associate to the left.
_OPERATORS: dict[str, tuple[int, str]] = {
    **{text: (0, name) for text, name in _COMPARISONS.items()},
    "|": (1, "|"),
    "^": (2, "^"),
    "&": (3, "&"),
    "<<": (4, "shiftleft"),
    ">>": (4, "shiftright"),
    ">>>": (4, "shiftrightunsigned"),
    "+": (5, "+"),
    "-": (5, "-"),
    "||": (5, "concat"),
    "*": (6, "*"),
    "/": (6, "/"),
    "%": (6, "%"),
    "DIV": (6, "div"),
}

# Words that cannot begin an operand.
_RESERVED = frozenset(
    (
        *(
            "AND",
            "OR",
            "IS",
            "IN",
            "BETWEEN",
            "LIKE",
            "ILIKE",
            "RLIKE",
            "REGEXP",
            "ESCAPE",
            "THEN",
            "WHEN",
            "ELSE",
            "END",
        ),
        *("AS", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "SELECT", "UNION", "INTERSECT", "EXCEPT", "ON", "USING"),
        *("JOIN", "LIMIT"),
    )
)
_UNIT_FUNCTIONS = frozenset(("timestampadd", "timestampdiff", "dateadd", "datediff", "date_add", "date_diff"))
_NILADIC = frozenset(
    ("CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME", "CURRENT_USER", "USER", "SESSION_USER", "LOCALTIMESTAMP")
)
_FIELDS = frozenset(("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE"))
_QUERY_WORDS = frozenset(("SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"))


def parse_sql(text: str) -> Node:
    """The predicate that `text` means in Spark SQL, names unresolved.

    TIMESTAMP literals without a zone become casts, to be folded in the session's zone by `bind`.
    Raises PredicateError with line, column and text where Spark would not parse it.
    """
    tokens = tokenize(text)
    if tokens[0].kind == "end":
        raise predicate_error(text, 0, "it is empty")
    parser = _Parser(text, tokens)
    try:
        node = parser.boolean()
        parser.finish()
    except Unknown as unknown:
        if unknown.token.text == ";" or not is_valid_sql(text):
            raise predicate_error(text, unknown.token.start, unknown.reason) from None
        return opaque(text)
    except RecursionError:
        return opaque(text)
    return opaque(text) if deeper_than(node, MAX_DEPTH) else node


class _Parser(Cursor):
    """The grammar, one method a rule."""

    __slots__ = ()

    def finish(self) -> None:
        if self.tokens[self.at].kind != "end":
            raise self.unknown("more follows where the predicate ends")

    def boolean(self) -> Node:
        legs = [self.conjunction()]
        while self.take_word("OR"):
            legs.append(self.conjunction())
        return legs[0] if len(legs) == 1 else Or(tuple(legs))

    def conjunction(self) -> Node:
        legs = [self.negation()]
        while self.take_word("AND"):
            legs.append(self.negation())
        return legs[0] if len(legs) == 1 else And(tuple(legs))

    def negation(self) -> Node:
        if self.take_word("NOT") or self.take("!"):
            return Not(self.negation())
        return self.predicate()

    def predicate(self) -> Node:
        start = self.at
        operand = self.binary()
        if self.take_word("IS"):
            negated = self.take_word("NOT")
            node = self.is_what(operand)
        else:
            negated = self.take_word("NOT")
            if self.take_word("BETWEEN"):
                node = self.between(operand)
            elif self.take_word("IN"):
                node = self.in_list(operand, start)
            elif self.take_word("LIKE"):
                node = self.like(operand, False, start)
            elif self.take_word("ILIKE"):
                node = self.like(operand, True, start)
            elif self.take_word("RLIKE") or self.take_word("REGEXP"):
                node = Call("rlike", (operand, self.binary()))
            elif negated:
                raise self.unknown("NOT is followed by no predicate")
            else:
                return operand
        return Not(node) if negated else node

    def is_what(self, operand: Node) -> Node:
        """What follows IS [NOT]."""
        if self.take_word("NULL") or self.take_word("UNKNOWN"):
            return IsNull(operand)
        if self.take_word("TRUE"):
            return Compare("<=>", operand, TRUE)
        if self.take_word("FALSE"):
            return Compare("<=>", operand, FALSE)
        if self.take_word("DISTINCT"):
            self.expect_word("FROM")
            return Not(Compare("<=>", operand, self.binary()))
        raise self.unknown("IS is followed by no test")

    def between(self, operand: Node) -> Node:
        lower = self.binary()
        self.expect_word("AND")
        return And((Compare(">=", operand, lower), Compare("<=", operand, self.binary())))

    def in_list(self, operand: Node, start: int) -> Node:
        self.expect("(")
        if self.word() in _QUERY_WORDS and self.peek(1).text not in (",", ")"):
            self.skip_past_close()
            return self.opaque_from(start)
        if self.tokens[self.at].text == ")":
            raise predicate_error(self.text, self.tokens[self.at].start, "the list of IN is empty")
        values = [self.list_value()]
        while self.take(","):
            values.append(self.list_value())
        self.expect(")")
        return In(operand, tuple(values))

    def list_value(self) -> Node:
        """A value of a list; a literal alone, the rule in long lists, skips the levels of operators."""
        token, after = self.tokens[self.at], self.tokens[self.at + 1].text if self.at + 1 < len(self.tokens) else ""
        if after in (",", ")"):
            if token.kind == "string":
                self.at += 1
                return Literal(string_value(token.text), STRING)
            if token.kind == "number":
                self.at += 1
                return self.number(token, False)
        return self.boolean()

    def like(self, operand: Node, case_insensitive: bool, start: int) -> Node:
        if self.word() in ("ANY", "SOME", "ALL") and self.peek(1).text == "(":
            self.at += 2
            self.skip_past_close()
            return self.opaque_from(start)
        pattern = self.binary()
        escape = "\\"
        if self.take_word("ESCAPE"):
            token = self.advance()
            if token.kind != "string" or len(string_value(token.text)) != 1:
                raise predicate_error(self.text, token.start, "ESCAPE needs a string of one character")
            escape = string_value(token.text)
        return Like(operand, pattern, escape, case_insensitive)

    def binary(self, loosest: int = 0) -> Node:
        """An operand, joined to others by operators that bind at least as tightly as `loosest`."""
        left = self.unary()
        while True:
            token = self.tokens[self.at]
            level, name = _OPERATORS.get(token.text.upper(), (-1, ""))
            if level < loosest or token.kind not in ("op", "name"):
                return left
            self.at += 1
            right = self.binary(level + 1)
            left = Compare(name, left, right) if level == 0 else Call(name, (left, right))

    def unary(self) -> Node:
        if self.take("-"):
            token = self.tokens[self.at]
            if token.kind == "number":
                self.at += 1
                return self.postfix(self.number(token, True), self.at - 2)
            return Call("negative", (self.unary(),))
        if self.take("+"):
            return Call("positive", (self.unary(),))
        if self.take("~"):
            return Call("~", (self.unary(),))
        start = self.at
        return self.postfix(self.primary(), start)

    def postfix(self, node: Node, start: int) -> Node:
        """`node` with what may follow an operand: a field, a subscript, a cast, a collation."""
        while True:
            if self.take("."):
                part = self.identifier()
                node = Column((*node.parts, part)) if isinstance(node, Column) else self.opaque_from(start)
            elif self.take("["):
                node = Call("getitem", (node, self.binary()))
                self.expect("]")
            elif self.take("::"):
                node = self.cast_to(node, start, False)
            elif self.word() == "COLLATE":
                self.at += 1
                name = [self.identifier()]
                while self.take("."):
                    name.append(self.identifier())
                node = Collate(node, name[-1])
            elif self.take(":"):
                node = self.variant_path(start)
            else:
                return node

    def variant_path(self, start: int) -> Opaque:
        """A path into a variant, `v:a.b[0]`, from behind its colon."""
        self.identifier()
        while True:
            if self.take("."):
                self.identifier()
            elif self.take("["):
                self.binary()
                self.expect("]")
            else:
                return self.opaque_from(start)

    def primary(self) -> Node:
        token = self.tokens[self.at]
        match token.kind:
            case "number":
                self.at += 1
                return self.number(token, False)
            case "string":
                return Literal(self.strings(), STRING)
            case "quoted":
                return self.name_or_call()
            case "name":
                return self.word_primary(token)
        if self.take("("):
            return self.parenthesis()
        raise self.unknown("an operand is missing")

    def parenthesis(self) -> Node:
        start = self.at - 1
        if self.word() in _QUERY_WORDS and self.peek(1).kind in ("name", "quoted", "string", "number", "op"):
            saved = self.at
            if self.word() in ("SELECT", "WITH") or self.peek(1).kind in ("name", "quoted"):
                self.skip_past_close()
                return self.opaque_from(start)
            self.at = saved
        inner = self.boolean()
        if self.tokens[self.at].text == ",":
            self.skip_past_close()
            return self.opaque_from(start)
        self.expect(")")
        return inner

    def word_primary(self, token: Token) -> Node:
        """An operand that begins with an unquoted word."""
        word, after = token.text.upper(), self.peek(1)
        if after.kind == "string" and word not in _RESERVED and word not in ("NOT", "CASE"):
            return self.typed_literal(word)
        if after.text != ".":
            if word in ("NULL", "TRUE", "FALSE") and after.text != "(":
                self.at += 1
                return {"NULL": Literal(None, VOID), "TRUE": TRUE, "FALSE": FALSE}[word]
            if word == "CASE":
                return self.case()
            if word in _NILADIC and after.text != "(":
                self.at += 1
                return Call(word.lower(), ())
            if word == "INTERVAL" and self.begins_interval(after):
                return self.interval()
            if word in _RESERVED or word == "NOT":
                raise self.unknown("an operand is missing")
        if after.text == "(":
            if word in ("CAST", "TRY_CAST"):
                return self.cast(word == "TRY_CAST")
            if word == "EXISTS" and self.peek(2).text.upper() in _QUERY_WORDS:
                return self.skip_call()
        return self.name_or_call()

    def typed_literal(self, word: str) -> Node:
        start = self.at
        self.at += 1
        if word == "INTERVAL":
            self.at -= 1
            return self.interval()
        token = self.tokens[self.at]
        text = self.strings()
        if word == "X":
            digits = text if len(text) % 2 == 0 else "0" + text
            if not all(c in "0123456789abcdefABCDEF" for c in digits):
                raise predicate_error(self.text, token.start, "X'…' holds something else than hexadecimal digits")
            return Literal(bytes.fromhex(digits), BINARY)
        if word not in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"):
            raise Unknown(self.tokens[start], f"there are no literals of type {word}")
        if is_special_date(text):
            return self.opaque_from(start)
        try:
            node = _datetime_literal(word, text)
        except LookupError:
            return self.opaque_from(start)
        if node is None:
            raise predicate_error(self.text, token.start, f"{text!r} is no {word}")
        return node

    def begins_interval(self, after: Token) -> bool:
        word = after.text.upper()
        return (
            after.kind == "number"
            or word in ("-", "(")
            or (after.kind == "name" and word not in _RESERVED and word not in ("NOT", "DIV", "COLLATE"))
        )

    def interval(self) -> Node:
        """An interval literal: there are no interval columns in Delta tables, so that it has no node."""
        start = self.at
        self.at += 1
        while True:
            self.take("-")
            self.take("+")
            token = self.advance()
            if token.text == "(":
                self.skip_past_close()
            elif token.kind not in ("number", "string", "name"):
                raise Unknown(token, "an interval's value is missing")
            if self.tokens[self.at].kind != "name" or self.word() in _RESERVED:
                break
            self.at += 1
            if self.take_word("TO"):
                self.at += 1
                break
            if self.tokens[self.at].kind not in ("number", "string"):
                break
        return self.opaque_from(start)

    def case(self) -> Node:
        self.at += 1
        subject = None if self.word() == "WHEN" else self.boolean()
        branches: list[tuple[Node, Node]] = []
        while self.take_word("WHEN"):
            condition = self.boolean()
            self.expect_word("THEN")
            value = self.boolean()
            branches.append((condition if subject is None else Compare("=", subject, condition), value))
        otherwise = self.boolean() if self.take_word("ELSE") else None
        self.expect_word("END")
        if not branches:
            raise self.unknown("CASE has no WHEN")
        return Case(tuple(branches), otherwise)

    def cast(self, safe: bool) -> Node:
        start = self.at
        self.at += 2
        operand = self.boolean()
        self.expect_word("AS")
        node = self.cast_to(operand, start, safe)
        if not isinstance(node, Opaque):
            self.expect(")")
            return node
        self.skip_past_close()
        return self.opaque_from(start)

    def cast_to(self, operand: Node, start: int, safe: bool) -> Node:
        type_ = self.type_name()
        if type_ is None:
            return self.opaque_from(start)
        if self.word() == "COLLATE" and type_ == STRING and self.tokens[start].text.upper() in ("CAST", "TRY_CAST"):
            self.at += 1
            return Collate(Cast(operand, type_, safe), self.identifier())
        return Cast(operand, type_, safe)

    def type_name(self) -> DataType | None:
        """The primitive type named here; None for other types, with the cursor before or inside their name."""
        token = self.tokens[self.at]
        name = token.text.lower()
        if token.kind != "name":
            raise self.unknown("the name of a type is missing")
        if name in DECIMAL_NAMES:
            self.at += 1
            return self.decimal_type()
        if name not in TYPE_NAMES or self.peek(1).text in ("<", "("):
            return None
        self.at += 1
        if name == "timestamp" and self.word() in ("WITH", "WITHOUT"):
            return None
        return TYPE_NAMES[name]

    def decimal_type(self) -> DataType:
        token = self.tokens[self.at - 1]
        sizes = [10, 0]
        if self.take("("):
            sizes[0] = int(self.expect_kind("number"))
            if self.take(","):
                sizes[1] = int(self.expect_kind("number"))
            self.expect(")")
        if not (1 <= sizes[0] <= 38 and sizes[1] <= sizes[0]):
            raise predicate_error(self.text, token.start, f"decimal({sizes[0]},{sizes[1]}) is not a type")
        return DecimalType(sizes[0], sizes[1])

    def name_or_call(self) -> Node:
        start = self.at
        name = self.identifier()
        if not self.take("("):
            return Column((name,))
        if self.tokens[start].kind == "quoted":
            return self.skip_call_from(start)
        try:
            args = self.arguments(name.lower())
        except Unknown:
            # Lambdas, DISTINCT, FROM … FOR, named arguments: no node here, but the call ends with its parenthesis.
            self.at = start + 2
            return self.skip_call_from(start)
        if self.word() in ("OVER", "FILTER", "WITHIN", "IGNORE", "RESPECT"):
            self.at = start + 2
            return self.skip_call_from(start)
        if len(args) == 3 and name.lower() in _UNIT_FUNCTIONS:
            # The first argument is a unit, such as DAY, and no column.
            return self.opaque_from(start)
        return call(name.lower(), args)

    def arguments(self, name: str) -> tuple[Node, ...]:
        if self.take(")"):
            return ()
        if name == "extract" and self.word() in _FIELDS and self.peek(1).text.upper() == "FROM":
            field = self.advance().text.lower()
            self.at += 1
            source = self.binary()
            self.expect(")")
            return (source, Literal(field, STRING))
        args = [self.boolean()]
        while self.take(","):
            args.append(self.boolean())
        self.expect(")")
        return tuple(args)

    def skip_call(self) -> Node:
        start = self.at
        self.at += 2
        return self.skip_call_from(start)

    def skip_call_from(self, start: int) -> Node:
        """Past a call whose opening parenthesis is behind the cursor, with its FILTER, IGNORE NULLS and OVER."""
        self.skip_past_close()
        while True:
            if self.take_word("IGNORE") or self.take_word("RESPECT"):
                self.expect_word("NULLS")
            elif self.take_word("FILTER") or self.take_word("OVER"):
                if self.take("("):
                    self.skip_past_close()
                else:
                    self.identifier()
            elif self.take_word("WITHIN"):
                self.expect_word("GROUP")
                self.expect("(")
                self.skip_past_close()
            else:
                return self.opaque_from(start)

    def number(self, token: Token, negative: bool) -> Literal:
        try:
            return number_literal(token.text, negative)
        except ValueError as error:
            raise predicate_error(self.text, token.start, str(error)) from error


def _datetime_literal(word: str, text: str) -> Node | None:
    """The literal DATE'…' or TIMESTAMP…'…', None for text that is none. Raises LookupError for a time of today."""
    match word:
        case "DATE":
            days = parse_date(text)
            return None if days is None else Literal(days, DATE)
        case "TIMESTAMP_NTZ":
            local = parse_timestamp_ntz(text)
            return None if local is None else Literal(local, TIMESTAMP_NTZ)
    micros = parse_timestamp(text, zone_of("UTC"))
    if micros is None:
        return None
    return Literal(micros, TIMESTAMP) if has_zone(text) else Cast(Literal(text, STRING), TIMESTAMP)
