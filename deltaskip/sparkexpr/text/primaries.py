"""Parses primary expressions: literals, names, CASE and parentheses, with their postfix operators."""

from __future__ import annotations

from deltaskip.errors import OptionAdvice
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.text.calls import DATE_UNITS, Calls
from deltaskip.sparkexpr.text.literals import TYPED_LITERALS, number_literal, typed_literal
from deltaskip.sparkexpr.text.pieces import AFTER_NAMES, COMPARISON, Mark, Piece, Rule
from deltaskip.sparkexpr.text.tokens import NAMES, VALUES
from deltaskip.sparkexpr.types.data_types import BOOLEAN, STRING, VOID
from deltaskip.sparkexpr.values.intervals import interval_between, interval_in, interval_of

_INTERVAL_UNITS = frozenset(
    (*(DATE_UNITS - {"QUARTER", "DAYOFYEAR"}), "NANOSECOND", *(f"{unit}S" for unit in DATE_UNITS), "NANOSECONDS")
)

_BUILT_IN = ["system", "builtin"]
# Quoted names and escapes in a path into a variant.
_ODD_IN_PATH = regex(r"[\s\\`\"]")
# A name in parentheses with more parts is not a column: each added part would copy the parts before it.
_MOST_PARTS = 100


class Primaries(Calls):
    """The rules of primary expressions."""

    def _primary(self) -> Rule:
        tokens = self.tokens
        token, key = tokens.token, tokens.key
        match token.kind:
            case "number":
                return self._number()
            case "string":
                return n.Literal(self._strings(), STRING)
            case "name":
                return (yield from self._named())
            case "word":
                if key in ("NULL", "TRUE", "FALSE") and not tokens.peek().is_symbol("->"):
                    tokens.advance()
                    return n.Literal(None, VOID) if key == "NULL" else n.Literal(key == "TRUE", BOOLEAN)
                if key == "CASE" and self._begins_operand(1):
                    return (yield from self._case())
                if key == "INTERVAL":
                    interval = self._interval()
                    if interval is not None:
                        return interval
                return (yield from self._named())
        match key:
            case "-":
                tokens.advance()
                return self._number(negative=True)
            case "(":
                return (yield from self._parenthesized())
            case ":" | "?":
                return self._parameter()
        raise tokens.no_operand()

    def _parenthesized(self) -> Rule:
        """An expression, a row or a query in parentheses."""
        tokens = self.tokens
        mark = self._mark()
        if self._begins_query():
            self._query()
            return self._piece(mark, query=True)
        tokens.advance()
        node: n.Node = yield self._expression()
        members, names = [node], {}
        if name := self._aliased():
            names[0] = name
        while tokens.take(","):
            members.append((yield self._expression()))
            if name := self._aliased():
                names[len(members) - 1] = name
        tokens.expect(")", "a parenthesis is not closed")
        if len(members) > 1 or names:
            from deltaskip.sparkexpr.functions.elements import struct_node

            return struct_node(*members, names=names)
        if isinstance(node, Piece):
            return self._piece(mark, query=node.query)
        return node

    def _named(self) -> Rule:
        """An operand that begins with a name: a column, a call, or a typed literal."""
        tokens = self.tokens
        mark, start = self._mark(), tokens.token.start
        quoted, key = tokens.token.kind == "name", tokens.key
        parts = [self._name()]
        if tokens.token.kind == "string":
            return self._typed(key, mark)
        while tokens.key == "." and tokens.peek().kind in NAMES:
            tokens.advance()
            parts.append(self._name())
        if tokens.key == "->" and len(parts) == 1:
            raise tokens.error("a lambda function is an argument of a function, such as exists(a, x -> x > 1)", start)
        if tokens.key != "(":
            return self._column(tuple(parts), start, quoted)
        if len(parts) > 1 or quoted:
            return (yield from self._call(parts, "", mark))
        match key:
            case "EXTRACT" if tokens.peek().kind in NAMES and tokens.peek(2).is_word("FROM"):
                return (yield from self._extract(mark))
            case "TRIM" if tokens.peek().is_word("BOTH", "LEADING", "TRAILING", "FROM"):
                return (yield from self._trim(mark))
            case "IDENTIFIER":
                return (yield from self._identifier(mark))
        return (yield from self._call(parts, key, mark))

    def _case(self) -> Rule:
        """CASE [value] WHEN condition THEN value … [ELSE value] END."""
        tokens = self.tokens
        tokens.advance()
        subject = None
        # `like(a, b)` begins with an operator that is also a function.
        if tokens.key != "WHEN" or not (self._begins_operand(1) or tokens.peek(2).is_symbol("(")):
            subject = yield self._expression()
        branches: list[tuple[n.Node, n.Node]] = []
        while tokens.take("WHEN"):
            tested = yield self._expression()
            tokens.expect("THEN")
            value = yield self._expression()
            branches.append((tested if subject is None else n.Compare("=", subject, tested), value))
        if not branches:
            raise tokens.unexpected("WHEN")
        otherwise = (yield self._expression()) if tokens.take("ELSE") else None
        tokens.expect("END")
        return n.Case(tuple(branches), otherwise)

    def _followed(self, node: n.Node, mark: Mark) -> Rule:
        """A primary expression with its postfix operators: an index, a field, a type, a collation or a path."""
        tokens = self.tokens
        sign = tokens.advance()
        match sign.text:
            case "[":
                place: n.Node = yield self._value(COMPARISON)
                tokens.expect("]", "a bracket is not closed")
                return n.Call("[]", (node, place))
            case ".":
                if isinstance(node, n.Literal):
                    raise tokens.error("a literal has no fields", mark[0])
                part = self._name()
                if isinstance(node, n.Column) and len(node.parts) < _MOST_PARTS:
                    if self._found and self._found[-1] == node.parts:
                        self._found[-1] = (*node.parts, part)
                    return n.Column((*node.parts, part))
                if not isinstance(node, n.Column):
                    return n.Call("[]", (node, n.Literal(part, STRING)))
            case "::":
                type_ = yield from self._type()
                if type_ is not None:
                    return n.Cast(node, type_)
            case ":":
                path = self._path(sign.start)
                if path:
                    return n.Call("variant_get", (node, n.Literal(path, STRING)))
            case _:
                parts = [self._name()]
                while tokens.take("."):
                    parts.append(self._name())
                return n.Collate(node, ".".join(parts[2:] if [*map(str.lower, parts[:2])] == _BUILT_IN else parts))
        return self._piece(mark)

    def _path(self, colon: int) -> str:
        """Read the path into a variant after a colon; return it for variant_get, or "" if it supports no such path."""
        tokens = self.tokens
        steps: list[str] = []
        while True:
            if tokens.key == "[":
                tokens.advance()
                if tokens.token.kind not in VALUES:
                    raise tokens.unexpected()
                token = tokens.advance()
                tokens.expect("]", "a bracket is not closed")
                steps.append(f"[{tokens.text[token.start : token.end]}]")
            elif not steps and tokens.token.kind in NAMES:
                token = tokens.advance()
                steps.append("." + tokens.text[token.start : token.end])
            elif steps and tokens.key == "." and tokens.peek().kind in NAMES:
                tokens.advance()
                token = tokens.advance()
                steps.append("." + tokens.text[token.start : token.end])
            elif not steps:
                raise tokens.error("the colon does not follow a variant", colon)
            else:
                path = "$" + "".join(steps)
                return "" if _ODD_IN_PATH.search(path) else path

    def _number(self, negative: bool = False) -> n.Literal:
        token = self.tokens.advance()
        try:
            return number_literal(token.text, negative)
        except ValueError as error:
            raise self.tokens.error(str(error), token.start) from error

    def _strings(self) -> str:
        """The value of adjacent strings, which Spark concatenates."""
        found = [self.tokens.advance().text]
        while self.tokens.token.kind == "string":
            found.append(self.tokens.advance().text)
        return "".join(found) if len(found) > 1 else found[0]

    def _typed(self, key: str, mark: Mark) -> n.Node:
        """The typed literal of a word and a string, such as DATE'2026-01-31'."""
        tokens = self.tokens
        string = tokens.advance()
        if key == "TIME":
            return self._piece(mark)
        if key not in TYPED_LITERALS:
            raise tokens.error("only DATE, TIME, TIMESTAMP, TIMESTAMP_NTZ, INTERVAL and X go before a string", mark[0])
        try:
            node = typed_literal(key, string.text)
        except ValueError as error:
            raise tokens.error(str(error), string.start) from error
        return self._piece(mark) if isinstance(node, n.Opaque) else node

    def _interval(self) -> n.Literal | None:
        """An interval literal; None if INTERVAL is a name. Raises PredicateError for an interval that Spark refuses."""
        tokens = self.tokens
        start = tokens.token.start
        sign = tokens.peek().text if tokens.peek().kind == "symbol" and tokens.peek().text in "+-" else ""
        value, unit = tokens.peek(2 if sign else 1), tokens.peek(3 if sign else 2)
        if value.kind not in ("number", "string"):
            return None
        numbered = value.kind == "number" and not sign and unit.kind == "word"
        with_unit = unit.is_word(*_INTERVAL_UNITS) or (numbered and unit.text.upper() not in AFTER_NAMES)
        if not with_unit and (sign or value.kind == "number"):
            return None
        tokens.advance()
        if not with_unit:
            return self._found_interval(interval_in(tokens.advance().text), start)
        parts: list[tuple[str, str]] = []
        while True:
            text = self._signed()
            parts.append((text, tokens.advance().text))
            if len(parts) == 1 and tokens.key == "TO" and tokens.peek().kind == "word":
                tokens.advance()
                return self._found_interval(interval_between(text, parts[0][1], tokens.advance().text), start)
            ahead = 1 if tokens.key in ("-", "+") else 0
            value = tokens.peek() if ahead else tokens.token
            unit = tokens.peek(ahead + 1)
            if value.kind not in ("number", "string") or not unit.is_word(*_INTERVAL_UNITS):
                return self._found_interval(interval_of(parts), start)

    def _signed(self) -> str:
        """The text of a number or string with a sign."""
        sign = self.tokens.advance().text if self.tokens.key in ("-", "+") else ""
        text = self.tokens.advance().text
        return sign + text.lstrip() if sign else text

    def _found_interval(self, found: n.Literal | None, start: int) -> n.Literal:
        if found is None:
            piece = self.tokens.text[start : self.tokens.end]
            forms = "INTERVAL 7 DAYS or INTERVAL '1 02:03:04' DAY TO SECOND"
            raise self.tokens.error(f"{piece} is not an interval, such as {forms}", start)
        return found

    def _parameter(self) -> n.Node:
        """`:name` or `?`."""
        tokens = self.tokens
        mark = self._mark()
        sign = tokens.advance()
        given: str = "params=[…]"
        if sign.text == ":":
            if tokens.token.kind != "word" or tokens.token.start != tokens.end:
                raise tokens.error("the colon does not follow a variant", sign.start)
            name = tokens.advance().text
            given = OptionAdvice("params", name, f"params={{{name!r}: …}}")
        if self.checked:
            name = tokens.text[sign.start : tokens.end]
            reason = f"the parameter {name} has no value: pass {given}, or write the value as a literal"
            raise tokens.error(reason, sign.start).advising(given)
        return self._piece(mark)
