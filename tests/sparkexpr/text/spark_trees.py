"""What Spark's parser makes of texts, stored in spark_trees.json.gz: `python -m tests.sparkexpr.text.spark_trees` asks.

A tree is a list: the class of Catalyst, what it has beside its children, and its children; "refused" is the tree of a
text that Spark's parser does not accept.
"""

import ast
import itertools
import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.sparkexpr.stored import read_stored, session, write_stored

STORED = Path(__file__).with_name("spark_trees.json.gz")
REFUSED = "refused"
_TESTS = Path(__file__).parents[2]
# What Spark's JSON of a node has beside its children, and the part of it that a predicate can tell.
_KEPT = (
    "nameParts", "value", "dataType", "isDistinct", "ignoreNulls", "filter", "unit", "name", "collationName", "field",
)  # fmt: skip
_SPECIAL = re.compile(r"\$\{|now|today|tomorrow|yesterday|epoch", re.IGNORECASE)

_ATOMS = (
    *("a", "b", "st.f", "t.a.b", "`a b`", "`x``y`", "date", "year", "value", "end", "not_null", "1a", "current_date"),
    *("1", "0", "-1", "2147483648", "-2147483648", "-9223372036854775808", "9223372036854775808", "1L", "2S", "3Y"),
    *("1.5", ".5", "5.", "1e3", "1.5e-3", "2.5BD", "1e3BD", "1.5D", "2F", "1e2f", "- 5", "300Y", "40000S", "1e400"),
    *("'x'", "''", "'it''s'", '"q"', "'a\\n\\u0041\\101\\%\\_\\q'", "r'a\\n'", "'a' 'b'", "'%x_'", "NULL", "TRUE"),
    *("false", "DATE'2020-01-31'", "date '2020-1-5'", "TIMESTAMP'2020-01-31 01:02:03Z'", "TIMESTAMP_NTZ'2020-01-31'"),
    *("TIMESTAMP '2020-01-31 10:00:00'", "X'1F'", "x'abc'", "INTERVAL 7 DAYS", "INTERVAL '1-2' YEAR TO MONTH"),
    *("INTERVAL '1 02:03:04' DAY TO SECOND", "INTERVAL -3 HOURS 2 MINUTES", "INTERVAL '2' MONTH", "interval"),
    *("DATE'2020-02-30'", "TIMESTAMP'x'", "X'zz'", "INTERVAL 'x' DAY", "n'a'", "1.5x", "*", ":p", "?", "", "[1]",
        "{a}"),
)  # fmt: skip
_BINARY = (
    *("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "!<", "!>", "+", "-", "*", "/", "%", "DIV", "div", "||"),
    *(
        "|", "^", "&", "<<", ">>", ">>>", "AND", "OR", "and", "or", "AND", "OR", "=", "+", "> >", "|>", "=>", "->",
        "mod",
    ),
)  # fmt: skip
_TYPES = (
    *("INT", "bigint", "string", "decimal(10,2)", "DECIMAL", "dec(5)", "double", "date", "timestamp", "timestamp_ntz"),
    *("boolean", "binary", "float", "tinyint", "smallint", "array<int>", "map<string,array<int>>", "variant", "byte"),
    *("struct<a:int,b:array<struct<c:string>>>", "interval day to second", "real", "numeric(3,1)", "nothing", "void"),
    *("timestamp without time zone", "time(3)", "string collate UNICODE", "decimal(39,2)", "int(3)", "struct<>"),
)
_FUNCTIONS = (
    *("abs", "upper", "coalesce", "concat", "if", "nvl", "f", "db.f", "`f`", "date_add", "year", "to_date", "like"),
    *("left", "right", "first", "struct", "array", "map", "isnull", "nullif", "int", "position", "substring", "trim"),
)


def generated(seed: int, count: int) -> list[str]:
    """Different texts of a grammar of expressions, in which now and then something is wrong."""
    chance = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        text = _text(chance, chance.choice((1, 2, 2, 3, 3, 4)))
        if len(text) < 400:
            found[text] = None
    return list(found)


def _text(chance: random.Random, depth: int) -> str:
    if depth <= 0 or chance.random() < 0.1:
        # The last ones are no expressions.
        return chance.choice(_ATOMS if chance.random() < 0.04 else _ATOMS[:63])

    def inner(less: int = 1) -> str:
        return _text(chance, depth - chance.randint(less, 2))

    blank = chance.choice((" ", " ", "  ", "\n", "/* c */ ", "-- c\n"))
    negated = chance.choice(("", "", "NOT "))
    match chance.randrange(26):
        case 0 | 1 | 2 | 3 | 4 | 5:
            operator = chance.choice(_BINARY if chance.random() < 0.1 else _BINARY[:34])
            return f"{inner()}{blank}{operator} {inner()}"
        case 6 | 7 | 8:
            return f"({inner(0)})"
        case 9:
            return f"{chance.choice(('NOT', '!', '-', '+', '~', '- -', 'not NOT'))} {inner()}"
        case 10:
            return f"{inner()} {negated}BETWEEN {inner()} AND {inner()}"
        case 11:
            return f"{inner()} {negated}IN ({', '.join(inner() for _ in range(chance.randint(1, 4)))})"
        case 12:
            escape = chance.choice(("", "", " ESCAPE '!'", " ESCAPE '!!'"))
            return f"{inner()} {negated}{chance.choice(('LIKE', 'ILIKE', 'RLIKE', 'regexp'))} {inner()}{escape}"
        case 13:
            quantifier = chance.choice(("ANY", "ALL", "some"))
            return f"{inner()} {negated}LIKE {quantifier} ({', '.join(inner() for _ in range(chance.randint(0, 2)))})"
        case 14:
            tested = chance.choice(("NULL", "TRUE", "false", "UNKNOWN", f"DISTINCT FROM {inner()}", "5"))
            return f"{inner()} IS {negated}{tested}"
        case 15:
            subject = chance.choice(("", f" {inner()}"))
            branches = "".join(f" WHEN {inner()} THEN {inner()}" for _ in range(chance.randint(1, 2)))
            return f"CASE{subject}{branches}{chance.choice(('', f' ELSE {inner()}'))} END"
        case 16:
            return f"{chance.choice(('CAST', 'try_cast'))}({inner()} AS {chance.choice(_TYPES)})"
        case 17:
            return f"{inner()}::{chance.choice(_TYPES)}"
        case 18:
            return f"{inner()}[{inner()}]"
        case 19:
            return f"{inner()}.{chance.choice(('f', 'end', '`g h`', 'a.b'))}"
        case 20:
            return f"{inner()} COLLATE {chance.choice(('UNICODE', 'utf8_lcase', 'a.b', '`x`'))}"
        case 21 | 22 | 23:
            arguments = ", ".join(inner() for _ in range(chance.randint(0, 3)))
            return f"{chance.choice(_FUNCTIONS)}({arguments})"
        case 24:
            return chance.choice(
                (
                    f"position({inner()} IN {inner()})",
                    f"EXTRACT({chance.choice(('YEAR', 'month', 'second', 'x'))} FROM {inner()})",
                    f"TRIM({chance.choice(('BOTH ', 'LEADING ', ''))}{inner()} FROM {inner()})",
                    f"trim(BOTH FROM {inner()})",
                    f"substring({inner()} FROM {inner()} FOR {inner()})",
                    f"substring({inner()} FROM {inner()})",
                    f"overlay({inner()} PLACING {inner()} FROM {inner()})",
                    f"timestampadd({chance.choice(('DAY', 'month', 'DAYS'))}, {inner()}, {inner()})",
                    f"datediff({chance.choice(('DAY', 'HOUR'))}, {inner()}, {inner()})",
                )
            )
        case _:
            return chance.choice(
                (
                    f"exists(a, x -> {inner()})",
                    f"aggregate(a, 0, (x, b) -> {inner()})",
                    f"f(DISTINCT {inner()})",
                    f"f(k => {inner()})",
                    f"sum({inner()}) OVER (PARTITION BY b)",
                    f"struct({inner()} AS x)",
                    f"({inner()}, {inner()})",
                    f"a:b.c[0] = {inner()}",
                    f"{inner()} IN (SELECT 1)",
                    "EXISTS (SELECT 1)",
                    f"{inner()} = (SELECT 1)",
                    f"{inner()} x",
                    f"{inner()} IS NULL IS NULL",
                )
            )


def stored() -> dict[str, dict[str, Any]]:
    """Spark's trees by the kind of the text, and the text."""
    found: dict[str, dict[str, Any]] = read_stored(STORED)
    return found


def spark_parser(session: Any) -> Any:
    """The parser of a classic session."""
    return session._jsparkSession.sessionState().sqlParser()


def tree_of(parser: Any, text: str) -> Any:
    """Spark's tree of a text."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        expression = parser.parseExpression(text)
    except (PySparkException, Py4JError):
        return REFUSED
    nodes = iter(json.loads(str(expression.toJSON())))
    return _tree(nodes, expression)


def _tree(nodes: Iterator[dict[str, Any]], expression: Any) -> Any:
    node = next(nodes)
    kind = str(node["class"]).rpartition(".")[2].partition("$$")[0]
    if kind in ("ScalarSubquery", "ListQuery", "Exists"):
        node["num-children"] = 0
    kept = {key: node[key] for key in _KEPT if node.get(key) not in (None, False)}
    children = expression.children()
    match kind:
        case "Literal" if node["dataType"] == "binary":
            kept["value"] = str(expression.sql())
        case "Cast":
            kept["try"] = str(expression.evalMode().toString()) == "TRY"
        case "Like" | "ILike":
            kept["escape"] = str(expression.escapeChar())
        case "LikeAny" | "LikeAll" | "NotLikeAny" | "NotLikeAll":
            patterns = expression.patterns()
            kept["patterns"] = [str(patterns.apply(at)) for at in range(patterns.size())]
        case "CaseWhen":
            kept["otherwise"] = expression.elseValue().isDefined()
    return [kind, kept, *(_tree(nodes, children.apply(at)) for at in range(node["num-children"]))]


def _examples(session: Any) -> Iterator[str]:
    """The examples of Spark's functions that are one expression, and the expressions in their columns."""
    registry = session._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry
    functions = registry.functionSet().iterator()
    while functions.hasNext():
        info = registry.builtin().lookupFunction(functions.next()).get()
        for text in re.findall(r"> SELECT (.*?);\n", str(info.getExamples()), re.DOTALL):
            if " FROM VALUES" not in text.upper():
                yield " ".join(text.split("\n")).strip()


def _in_tests() -> Iterator[str]:
    """The texts in the tests that may be expressions."""
    for path in sorted(_TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for text in node.value.split("¦"):
                    if 2 < len(text.strip()) < 200 and re.search(r"[=<>(*+]|\b(IS|IN|LIKE|BETWEEN)\b", text):
                        yield text.strip()


def main() -> None:
    """Collect and store the trees."""
    spark = session()
    parser = spark_parser(spark)
    texts: dict[str, Iterable[str]] = {"generated": generated(20261126, 5000), "examples": _examples(spark)}
    # With the texts of earlier tests.
    texts["tests"] = itertools.chain(_in_tests(), stored()["tests"])
    found: dict[str, dict[str, Any]] = {}
    for kind, each in texts.items():
        trees = {text: tree_of(parser, text) for text in dict.fromkeys(each) if not _SPECIAL.search(text)}
        # Most strings in the tests are no expressions at all: every tenth of them is enough.
        refused = [text for text, tree in trees.items() if tree == REFUSED]
        left_out = {text for at, text in enumerate(refused) if kind == "tests" and at % 10}
        found[kind] = {text: tree for text, tree in trees.items() if text not in left_out}
        print(kind, len(found[kind]), sum(tree == REFUSED for tree in found[kind].values()))
    write_stored(STORED, found)
    spark.stop()


if __name__ == "__main__":
    main()
