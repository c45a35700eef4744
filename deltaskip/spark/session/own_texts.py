"""SQL text and Columns that this package makes, which mean the same in every session.

Literals, types and names are written as no setting changes them: `sql_string`, `exact_type_text`, `quoted_name`. What
is left depends on the session: it replaces variables in a text, may take names for regular expressions, and may have
functions that hide Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import takewhile
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.errors import UnsupportedFeature
from deltaskip.spark.session.session_settings import is_classic, java_state, java_view
from deltaskip.sparkexpr.functions import ARGUMENT_COUNTS, SYNTAX
from deltaskip.sparkexpr.text.sql_text import SqlToken, quoted_text, sql_string, sql_tokens

# The names of all functions that texts and Columns of this package call.
OWN_FUNCTIONS = frozenset({
    "abs", "array", "bitmap_construct_agg", "bitmap_count", "char_length", "coalesce", "concat",
    "count", "date_from_unix_date", "element_at", "explode", "forall", "get", "getbit", "greatest", "hex", "if", "in",
    "isnan", "isnotnull", "isnull", "least", "length", "map", "map_entries", "map_from_entries", "map_keys",
    "map_values", "max", "min", "monotonically_increasing_id", "pmod", "raise_error", "rpad", "sequence", "shiftleft",
    "shiftright", "spark_partition_id", "startswith", "struct", "substring", "sum", "timestamp_micros", "to_json",
    "transform", "transform_keys", "transform_values", "try_add", "try_multiply", "unhex", "unix_date", "unix_micros",
    "when", "xxhash64",
})  # fmt: skip
# The same where rows have shapes, which older sessions do not have.
OF_SHAPES = frozenset({"st_asbinary"})
_ESCAPED = "spark.sql.parser.escapedStringLiterals"
_SUBSTITUTE = "spark.sql.variable.substitute"
_PATTERNS = "spark.sql.parser.quotedRegexColumnNames"
# Spark 4.1, AstBuilder.visitColumnReference: other names in backticks are no regular expressions.
_PLAIN = re.compile(r"\w+", re.ASCII)
_PLAIN_NAME = re.compile(r"`\w+`(?!`)", re.ASCII)
# A variable that no session has. Spark replaces it by the empty string, and does not read the result again.
_NOTHING = "${deltaskip.nothing}"
_ORDER = "spark.sql.functionResolution.sessionOrder"
_PATH = "spark.sql.path.enabled"
_PATH_ENTRY = re.compile(r"(?:`(?:[^`]|``)*`|[^`,])+")
_BUILT_IN, _OF_SESSION = "system.builtin", "system.session"
# Requests to a server at once.
_REQUESTS = 16
# Arguments that Spark accepts, where it refuses NULL.
_ARGUMENTS = {
    "bitmap_count": "X'00'", "element_at": "array(0), 1", "explode": "array(0)", "get": "array(0), 0",
    "sequence": "0, 1", "map_from_entries": "array(struct(0, 0))", "when": "true, 0",
}  # fmt: skip
# Of servers, by session: a hash of calls of functions that were Spark's, by their names; None where Spark refuses one.
_unhidden: WeakKeyDictionary[Any, dict[frozenset[str], int | None]] = WeakKeyDictionary()
# Of servers, by session.
_versions: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def own_text(spark: SparkSession, text: str) -> str:
    """Return a text of this package as the session has to get it, so that its Spark replaces nothing in it.

    # Spark 4.1, VariableSubstitution, ConfigReader.substitute
    """
    return text.replace("${", f"${_NOTHING}{{") if replaces_variables(text, spark.conf) else text


def replaces_variables(text: str, settings: Any) -> bool:
    """Whether a session may replace variables in a text.

    settings: The settings of the session, or its `conf`.
    """
    return "${" in text and str(settings.get(_SUBSTITUTE, "true")).strip().lower() == "true"


def own_literal(spark: SparkSession, text: str) -> str:
    """Return a string as an SQL literal for clauses such as LOCATION, which take no expression.

    # Spark 4.1, ParserUtils.string: without escapes, the quotes are cut off, and nothing else is changed

    Raises UnsupportedFeature for a text that has no literal under the settings of the session.
    """
    if "'" in text or "\\" in text:
        if str(spark.conf.get(_ESCAPED, "false")).lower() != "true":
            return quoted_text(text)
        if "'" in text or text.endswith("\\"):
            raise UnsupportedFeature(
                f"{text!r} has no form in SQL text for this session, which has {_ESCAPED} = true: set it to false."
            )
    return f"'{text}'"


def own_sql(spark: SparkSession, text: str) -> DataFrame:
    """Run an SQL statement of this package."""
    return spark.sql(own_text(spark, text))


def own_column(spark: SparkSession, text: str) -> Column:
    """Return the Column of an SQL expression of this package."""
    return F.expr(*own_expressions(spark, text))


def selected(frame: DataFrame, *texts: str) -> DataFrame:
    """Return the columns of SQL texts of this package."""
    return frame.selectExpr(*own_expressions(frame.sparkSession, *texts))


def own_expressions(spark: SparkSession, *texts: str) -> list[str]:
    """Return SQL expressions of this package as `own_text`, in which the session also finds columns by their names."""
    odd = any("`" in _PLAIN_NAME.sub("", text) for text in texts)
    if odd and str(spark.conf.get(_PATTERNS, "false")).lower() == "true":
        texts = tuple(map(_without_patterns, texts))
    return [own_text(spark, text) for text in texts]


def _without_patterns(text: str) -> str:
    """The expression without names in backticks that the session takes for regular expressions.

    The name of a column is the argument of IDENTIFIER, and the name of a field after something else an index.
    """
    tokens = sql_tokens(text)
    kept: list[str] = []
    end = at = 0
    while at < len(tokens):
        first, at = at, at + 1
        if tokens[first].kind not in ("word", "name"):
            continue
        while at + 1 < len(tokens) and tokens[at].is_symbol(".") and tokens[at + 1].kind in ("word", "name"):
            at += 2
        parts = tokens[first:at:2]
        before = tokens[first - 1] if first else None
        is_type = at < len(tokens) and tokens[at].is_symbol(":")
        if is_type or (before is not None and before.is_word("AS")) or not any(map(_is_odd, parts)):
            continue
        begin = tokens[first]
        if before is not None and before.is_symbol("."):
            begin, found = before, "".join(_indexes(parts))
        elif begin.kind == "word":
            found = "".join([begin.text, *_indexes(parts[1:])])
        else:
            found = f"IDENTIFIER({sql_string(text[begin.start : parts[-1].end])})"
        kept += text[end : begin.start], found
        end = parts[-1].end
    return "".join([*kept, text[end:]])


def _is_odd(token: SqlToken) -> bool:
    return token.kind == "name" and _PLAIN.fullmatch(token.text) is None


def _indexes(fields: Sequence[SqlToken]) -> Iterator[str]:
    return (f"[{sql_string(field.text)}]" for field in fields)


def check_functions(spark: SparkSession, names: Set[str] = OWN_FUNCTIONS) -> None:
    """Raise UnsupportedFeature if the session has a function of its own under one of these names of `OWN_FUNCTIONS`."""
    found = sorted(hidden_functions(spark, names & (OWN_FUNCTIONS | OF_SHAPES)))
    if found:
        raise UnsupportedFeature(
            f"The session has a function {found[0]} of its own, which hides Spark's, and deltaskip needs Spark's: "
            f"register it under another name in a new session, as by spark.newSession(), because Spark cannot drop it; "
            f"or begin the path of the session with {_BUILT_IN}, if SET PATH leads to the function."
        )


def hidden_functions(spark: SparkSession, names: Set[str]) -> frozenset[str]:
    """Return those of some names of Spark's functions that functions of the session hide.

    The session is asked each time, because it may get a function at any time. This takes 0.1 ms unless a classic
    session has functions of its own. On a server before Spark 4.2, it takes 40 ms for a few names and 0.3 s for many,
    and 5 to 10 ms once they were asked for.

    names: In lower case.
    """
    return hidden_in_flight(spark, names)()


def hidden_in_flight(spark: SparkSession, names: Set[str], settings: Any = None) -> Callable[[], frozenset[str]]:
    """Ask the session as `hidden_functions` does, and return the function that waits for the answer of a server.

    settings: The settings of the session, if they are known.
    """
    names = frozenset(names).difference(SYNTAX)
    settings = spark.conf if settings is None else settings
    found = frozenset[str]()
    if names and str(settings.get(_PATH, "false")).strip().lower() == "true":
        found = _first_on_path(spark, names)
    elif names and not is_classic(spark):
        return _asked_of_server(spark, names, settings)
    if names and is_classic(spark):
        found |= _hidden_in_jvm(spark, names)
    return lambda: found


def _first_on_path(spark: SparkSession, names: Set[str]) -> frozenset[str]:
    """Those of some names that the path of the session finds before Spark's functions."""
    found = frozenset[str]()
    try:
        path = spark.sql(f"SELECT {_BUILT_IN}.current_path()").collect()[0][0]
    except Exception:  # an older Spark, to which the setting means nothing
        return found
    for schema in takewhile(_BUILT_IN.__ne__, _PATH_ENTRY.findall(path)):
        of_session = schema == _OF_SESSION
        listed = own_text(spark, "spark_catalog.default" if of_session else schema)
        try:
            rows = spark.sql(f"SHOW USER FUNCTIONS IN {listed}").collect()
        except Exception as error:  # such as of a catalog without functions, behind which Spark finds none
            if "SCHEMA_NOT_FOUND" not in str(error):
                return frozenset(names)
        else:  # functions of the session are listed with those of every schema, and have no schema
            found |= {row[0].rpartition(".")[2].lower() for row in rows if ("." in row[0]) != of_session}
    return found & names


def _hidden_in_jvm(spark: SparkSession, names: Set[str]) -> frozenset[str]:
    built_in = _built_in(java_view(spark))
    of_session = java_state(spark).functionRegistry().functionBuilders()
    if built_in.equals(of_session):
        return frozenset()
    others = built_in.toSet().diff(of_session.toSet()).toSeq()
    return frozenset(str(others.apply(i)._1().funcName()).lower() for i in range(others.size())) & names


def _asked_of_server(spark: SparkSession, names: frozenset[str], settings: Any) -> Callable[[], frozenset[str]]:
    if spark not in _versions:
        _versions[spark] = str(spark.version)
    major, minor = _versions[spark].split(".")[:2]
    if (int(major), int(minor)) >= (4, 2) and str(settings.get(_ORDER, "second")).strip().lower() != "first":
        # Spark's functions come first.
        return frozenset[str]
    pool = ThreadPoolExecutor(1, "deltaskip")
    answer = pool.submit(_hidden_on_server, spark, names)
    pool.shutdown(wait=False)
    return answer.result


def _hidden_on_server(spark: SparkSession, names: frozenset[str]) -> frozenset[str]:
    """Ask a server for the classes of functions, unless calls of them mean what they did when none was hidden.

    A function of the session cannot be dropped where it hides Spark's, so that it is enough to hash the calls before.
    """
    known = _unhidden.setdefault(spark, {})
    asked = names not in known or known[names] is not None
    calls = _hash_of_calls(spark, names) if asked else None
    if calls is not None and known.get(names) == calls:
        return frozenset()
    if len(names) > _REQUESTS:
        found = _hidden_of_list(spark, names)
    else:
        with ThreadPoolExecutor(len(names), "deltaskip") as pool:
            found = frozenset[str]().union(*pool.map(partial(_hidden_of_name, spark), names))
    if not found:
        known[names] = calls
    return found


def _hash_of_calls(spark: SparkSession, names: Set[str]) -> int | None:
    """A hash of the analyzed calls of functions, one request of a few milliseconds; None if Spark refuses a call."""
    nulls = (", ".join(["NULL"] * ARGUMENT_COUNTS.get(name, (1, 1))[0]) for name in sorted(names))
    calls = [f"{name}({_ARGUMENTS.get(name, given)})" for name, given in zip(sorted(names), nulls, strict=True)]
    try:
        return int(spark.range(1).selectExpr(*calls).semanticHash())
    except Exception:  # Connect wraps every error
        return None


def _hidden_of_list(spark: SparkSession, names: Set[str]) -> frozenset[str]:
    listed = spark.catalog.listFunctions(pattern="|".join(sorted(filter(str.isidentifier, names))))
    return frozenset(each.name.lower() for each in listed if _is_of_session(each.className))


def _hidden_of_name(spark: SparkSession, name: str) -> frozenset[str]:
    try:
        is_hidden = _is_of_session(spark.catalog.getFunction(name).className)
    except Exception:  # syntax that looks like a function, such as TRY_CAST; Connect wraps every error
        is_hidden = False
    return frozenset([name] if is_hidden else ())


@lru_cache(1)
def _built_in(jvm: Any) -> Any:
    """The functions of Spark: each name with its description and what makes an expression of it."""
    return jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin().functionBuilders()


def _is_of_session(java_class: str | None) -> bool:
    """Whether the Java class of a function is not one of Spark's own functions."""
    return java_class is not None and not java_class.startswith("org.apache.spark.sql.catalyst.expressions.")
