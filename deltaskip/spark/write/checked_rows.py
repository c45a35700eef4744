"""Rows to be written through Spark: casts, defaults, generated and identity columns, and the rules, in one projection.

The columns are computed and checked in the same pass that writes them. A row that violates a rule raises an error in
the job; `violation_of` finds the rule and the row in it. Only functions of Spark 3.5 and newer are used, and none whose
result depends on ANSI mode.

Any writer of a table can set generated columns, defaults, CHECK constraints and invariants, and they are evaluated in
the session of the user who appends. Such text must therefore not reach a method of the JVM, a function of the session,
another table, a file, or a setting or variable of the process: it may call functions of Spark, without those that run
other code. Spark parses the text, and its tree is examined.

# Spark 4.1, FunctionRegistry, CallMethodViaReflection, VariableSubstitution
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.errors import InvalidArgument, RowViolation, SchemaError, UnsupportedFeature
from deltaskip.features.identity_columns import IdentityColumn
from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.log import Snapshot
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.rows.rules import RowRule, rule_condition, value_violation, violation
from deltaskip.rows.shown_rows import row_of_json
from deltaskip.rows.store import VIOLATION
from deltaskip.schema.spark_collations import unknown_collations
from deltaskip.spark.columns.spark_types import HAS_COLLATIONS, logical_type
from deltaskip.spark.columns.to_column import carrier_sql
from deltaskip.spark.session.own_texts import check_functions, own_column, own_expressions
from deltaskip.spark.session.session_settings import is_classic, java_state, java_view, session_id
from deltaskip.sparkexpr import columns_in, is_valid_sql
from deltaskip.sparkexpr.text.sql_text import SqlToken, quoted_name, sql_string, sql_tokens
from deltaskip.sparkexpr.types import DEFAULT_KEY, StructField, StructType, fold_name

# The longest JSON of a row in an error message; longer rows are not shown.
_LONGEST_ROW = 20_000
_JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS",
}
_ROW_INDEX_BITS = 33
_RULE = regex(re.escape(VIOLATION) + r'\{"rule":(\d+)\}')


def rows_to_write(frame: DataFrame, plan: RowPlan, identity_tasks: int = 0, first_rule: int = 0) -> DataFrame:
    """Return the rows as they will be stored: the table's columns in order, then the carried columns.

    The evaluation raises an error for a row that violates a rule, and for a value that does not fit its column.

    Args:
        frame: The rows, with the columns that the plan was made for.
        plan: The plan.
        identity_tasks: Greatest number of partitions of `frame`, among which values of identity columns are divided;
            needed if the plan has such columns to fill.
        first_rule: Index of the plan's first rule among the rules of all plans of a job.

    Raises:
        InvalidArgument: `identity_tasks` is missing.
        UnsupportedFeature: An expression uses a column whose collation this version of Spark does not have, or calls
            a function that expressions of a table may not call.
    """
    spark = frame.sparkSession
    check_functions(spark)
    check_plan(spark, plan)
    _check_collations(plan)
    base = [_base(spark, column, identity_tasks) for column in plan.columns if column.origin != "generated"]
    stored = frame.select(*base, *_carried(plan))
    if any(column.origin == "generated" for column in plan.columns):
        stored = stored.select(*map(partial(_final, spark), plan.columns), *_carried(plan))
    return stored.select(*_guarded(spark, plan, first_rule), *_carried(plan))


def violation_of(error: BaseException, *plans: RowPlan) -> RowViolation | None:
    """Return the error of the rule or value that made a Spark job fail; None if it failed for another reason.

    plans: The plans of the job, whose rules are numbered one after the other.
    """
    plan = plans[0]
    text = str(error)
    start = text.find(VIOLATION)
    if start < 0:
        return None
    ruled = _RULE.match(text, start)
    if ruled is not None:
        row = row_of_json(text[ruled.end() :], plan.written_schema)
        rules = [rule for each in plans for rule in each.rules]
        return violation(rules[int(ruled[1])], row, plan.table, plan.without_empty)
    try:
        found, _ = json.JSONDecoder().raw_decode(text[start + len(VIOLATION) :])
    except (ValueError, RecursionError):
        return None
    return value_violation(found["column"], found["type"], found.get("value"), plan.table)


def check_rows(frame: DataFrame, plan: RowPlan) -> None:
    """Evaluate the rules of a plan over every row. Raises RowViolation for a row that violates a rule."""
    try:
        rows_to_write(frame, plan).write.format("noop").mode("overwrite").save()
    except Exception as error:
        found = violation_of(error, plan)
        if found is None:
            raise
        raise found from error


def _carried(plan: RowPlan) -> list[Column]:
    return [F.col(quoted_name(name)) for name in plan.carried]


def _base(spark: SparkSession, column: PlannedColumn, tasks: int) -> Column:
    value = _identity_values(column.identity, tasks) if column.identity is not None and not column.sql else column.sql
    return _declared(own_column(spark, value), column).alias(column.field.name)


def _final(spark: SparkSession, column: PlannedColumn) -> Column:
    if column.origin != "generated":
        return F.col(quoted_name(column.field.name))
    return _declared(own_column(spark, column.sql), column).alias(column.field.name)


def _declared(value: Column, column: PlannedColumn) -> Column:
    """The value with the collations that the table declares, or without collations. Rules compare it under these.

    A value that is computed from a collated column has the collation of this column, which another column must not get.
    The type of an expression, such as a decimal's scale, may depend on the settings of the session.
    """
    declared = logical_type(column.field)
    return value.cast(declared) if column.expression is not None or "string" in declared.simpleString() else value


def _check_collations(plan: RowPlan) -> None:
    """Refuse expressions over strings whose collation this Spark does not have: it would compare them by bytes."""
    unknown = unknown_collations(plan.written_schema, HAS_COLLATIONS)
    if not unknown:
        return
    top = {
        fold_name(c.field.name): path
        for c in plan.columns
        for path in unknown_collations(StructType((c.field,)), HAS_COLLATIONS)
    }
    expressions = [rule.expression for rule in plan.rules if rule.kind not in ("not null", "length")]
    expressions += [c.expression for c in plan.columns if c.origin == "generated" and c.expression is not None]
    for text in expressions:
        # Text that deltaskip cannot parse may use any column.
        used = [top.get(fold_name(parts[0])) for parts in columns_in(text)] if is_valid_sql(text) else [*top.values()]
        path = next((path for path in used if path is not None), None)
        if path is not None:
            raise UnsupportedFeature(
                f"The expression {text} of {plan.table} cannot be evaluated: this version of Spark does not have the "
                f"collation {unknown[path]} of {path}. Use a version that has it."
            )


def _guarded(spark: SparkSession, plan: RowPlan, first_rule: int) -> Sequence[Column]:
    """The columns; one of them raises an error where a row violates a rule."""
    names = [column.field.name for column in plan.columns]
    columns = [F.col(quoted_name(name)) for name in names]
    if not plan.rules or not names:
        return columns
    partitions = frozenset(plan.partition_columns)
    guard = next((i for i, name in enumerate(names) if name not in partitions), 0)
    columns[guard] = F.expr(_guard(spark, plan, names[guard], first_rule)).alias(names[guard])
    return columns


def _guard(spark: SparkSession, plan: RowPlan, name: str, first_rule: int) -> str:
    # The predicate of an overwrite is the caller's text, in which the session replaces variables.
    own = iter(own_expressions(spark, *(rule.sql for rule in plan.rules if rule.kind != "where")))
    rules = [rule if rule.kind == "where" else replace(rule, sql=next(own)) for rule in plan.rules]
    satisfied = " AND ".join(f"({rule.sql})" for rule in rules)
    first = " ".join(f"WHEN NOT {rule_condition(rule)} THEN {i}" for i, rule in enumerate(rules, first_rule))
    members = ", ".join(f"{quoted} AS {quoted}" for quoted in (quoted_name(c.field.name) for c in plan.columns))
    row, value = own_expressions(spark, members, quoted_name(name))
    options = ", ".join(f"'{name}', '{value}'" for name, value in _JSON_OPTIONS.items())
    as_json = f"substring(to_json(struct({row}), map({options})), 1, {_LONGEST_ROW})"
    number = f"CAST(CASE {first} END AS STRING)"
    message = f"concat('{VIOLATION}{{\"rule\":', {number}, '}}', {as_json})"
    return f"CASE WHEN {satisfied} THEN {value} ELSE raise_error({message}) END"


def _identity_values(identity: IdentityColumn, tasks: int) -> str:
    """SQL text of values that no two rows share, whatever the number of rows of each partition."""
    if tasks < 1:
        raise InvalidArgument(
            f"identity_tasks must be at least 1, because rows get values of the identity column {identity.column}."
        )
    first, step = identity.interleaved(0, 1)
    partition = "CAST(spark_partition_id() AS BIGINT)"
    index = f"(monotonically_increasing_id() - shiftleft({partition}, {_ROW_INDEX_BITS}))"
    number = f"try_add({partition}, try_multiply({index}, {tasks}L))"
    value = f"try_add({carrier_sql(first)}, try_multiply({number}, {carrier_sql(step)}))"
    members = {"column": identity.column, "type": "BIGINT", "value": None}
    full = f"raise_error({sql_string(VIOLATION + json.dumps(members))})"
    many = f"raise_error('More than {tasks} partitions write values of an identity column.')"
    return f"CASE WHEN {partition} < {tasks}L THEN coalesce({value}, {full}) ELSE {many} END"


ALLOW_REFLECTION = "spark.deltaskip.allowReflection"
"""The setting of a session that allows all text that tables store."""

# Spark functions that call methods by their names, load classes, or read files that an argument or option names.
_REFUSED = frozenset({
    "reflect", "java_method", "try_reflect",
    "from_avro", "to_avro", "schema_of_avro", "from_protobuf", "to_protobuf",
    "from_xml", "schema_of_xml",
})  # fmt: skip
_ANALYSIS = "org.apache.spark.sql.catalyst.analysis."
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_UNRESOLVED = frozenset({
    "UnresolvedAttribute", "UnresolvedExtractValue", "UnresolvedFunction", "UnresolvedStar",
})  # fmt: skip
_SUBQUERIES = frozenset({"ScalarSubquery", "Exists", "InSubquery", "ListQuery", "LateralSubquery"})
_BUILT_IN = (["builtin"], ["system", "builtin"])
# Spark replaces these by settings, environment variables and JVM properties, also inside strings.
_VARIABLE = regex(r"\$\{[^}\s]+\}")
# Words before a parenthesis that are not functions.
_KEYWORDS = frozenset({
    "ALL", "AND", "ANY", "AS", "BETWEEN", "BY", "CASE", "CAST", "DISTINCT", "ELSE", "ESCAPE", "EXTRACT", "FILTER",
    "FOR", "FROM", "ILIKE", "IN", "IS", "LIKE", "NOT", "OR", "OVERLAY", "POSITION", "REGEXP", "RLIKE", "SOME",
    "SUBSTR", "SUBSTRING", "THEN", "TIMESTAMPADD", "TIMESTAMPDIFF", "TRIM", "TRY_CAST", "WHEN", "DIV",
    "ARRAY", "MAP", "STRUCT", "DECIMAL", "DEC", "NUMERIC", "CHAR", "VARCHAR", "CHARACTER", "STRING", "TIMESTAMP",
    "TIME",
})  # fmt: skip
_QUERIES = ("FROM", "TABLE", "VALUES", "WITH")
# Functions whose type is that of the type TIMESTAMP in the session.
_TIMES = ("TIMESTAMP", "TO_TIMESTAMP", "TRY_TO_TIMESTAMP", "MAKE_TIMESTAMP", "TRY_MAKE_TIMESTAMP")
_SYSTEM_FUNCTIONS: dict[str, frozenset[str]] = {}


def check_plan(spark: SparkSession, plan: RowPlan) -> None:
    """Check the text that a table stores before a plan hands it to Spark; see `check_stored_text`."""
    texts = [
        (f"The {column.origin} value of the column {column.field.name}", column.expression)
        for column in plan.columns if column.expression is not None and column.origin in ("default", "generated")
    ]  # fmt: skip
    # The caller writes the predicate of an overwrite, and this package all other rules.
    texts += [
        (f"The rule {rule.name} ({rule.expression})", rule.sql.removeprefix(f"{_named(rule)} <=> "))
        for rule in plan.rules if rule.kind in ("check", "invariant", "generated")
    ]  # fmt: skip
    check_stored_text(spark, texts, plan.table, plan.allow_reflection)


def check_default(spark: SparkSession, field: StructField, snapshot: Snapshot) -> None:
    """Check the default of a column, if it has one, before Spark gets it as a value; see `check_stored_text`."""
    text = field.metadata.get(DEFAULT_KEY)
    if text is not None:
        what = f"The default value of the column {field.name}"
        check_stored_text(spark, [(what, str(text))], snapshot.root, snapshot.allow_reflection)


def check_stored_text(spark: SparkSession, texts: Iterable[tuple[str, str]], table: str, allowed: bool) -> None:
    """Raise UnsupportedFeature for text of a table that calls more than Spark's own functions of values.

    It is also raised for text that means something else under a setting of the session, because the values and rules of
    a table must not depend on its writer. (delta-spark stores other values.)

    Args:
        spark: The session that would evaluate it.
        texts: A description of each text, for messages, and the text.
        table: The table's location, for messages.
        allowed: Whether the caller lets the table's text call anything.
    """
    distinct = dict.fromkeys(texts)
    for what, text in distinct:
        _check_settings(spark, what, text, table)
    if not distinct or allowed or str(spark.conf.get(ALLOW_REFLECTION, "false")).lower() == "true":
        return
    calls = _Parsed(spark) if is_classic(spark) else _Tokens(spark)
    for what, text in distinct:
        problem = _problem(text, calls)
        if problem is not None:
            raise UnsupportedFeature(
                f"{what} of {table} {problem}. Whoever wrote the table chose what would run in this session, so it is "
                f"refused. If you trust the table, open it with allow_reflection=True, or set {ALLOW_REFLECTION} = "
                f"true in the session."
            )


def _check_settings(spark: SparkSession, what: str, text: str, table: str) -> None:
    for key, usual in dict(_settings_of(text)).items():
        value = str(spark.conf.get(key, usual))
        if value.lower() != usual.lower():
            raise UnsupportedFeature(
                f"{what} of {table} means something else in this session, which has {key} = {value}: {text}. Write to "
                f"the table in a session with {key} = {usual}."
            )


def _settings_of(text: str) -> Iterator[tuple[str, str]]:
    """The settings under which Spark reads a text differently, each with its usual value.

    # Spark 4.1, AstBuilder, ParserUtils.string, DataTypeAstBuilder, ParseToTimestamp, MakeTimestamp
    """
    try:
        tokens = sql_tokens(text)
    except SchemaError:
        # Spark refuses the text.
        return
    for i, token in enumerate(tokens):
        source = text[token.start : token.end]
        before, after = tokens[i - 1 : i], tokens[i + 1 : i + 2]
        if token.kind == "string":
            quote = source[-1]
            if quote == '"':
                yield "spark.sql.ansi.doubleQuotedIdentifiers", "false"
            # Where backslashes are no escapes, a raw string begins with its quote.
            if "\\" in source or source[0] in "rR":
                yield "spark.sql.parser.escapedStringLiterals", "false"
            if quote * 2 in source[1:-1]:
                yield "spark.sql.legacy.consecutiveStringLiterals.enabled", "false"
        elif token.kind == "number" and source[-1].isdigit() and "e" in source.lower():
            yield "spark.sql.legacy.exponentLiteralAsDecimal.enabled", "false"
        called = bool(after) and after[0].is_symbol("(")
        is_type = token.is_word("TIMESTAMP") and bool(before) and (before[0].is_word("AS") or before[0].text in "::<")
        if is_type or (called and token.is_word(*_TIMES)) or (token.kind == "string" and "timestamp" in source.lower()):
            yield "spark.sql.timestampType", "TIMESTAMP_LTZ"


def _named(rule: RowRule) -> str:
    """The column of a rule about one."""
    return "".join(quoted_name(name) for _, name in rule.path)


def _problem(text: str, calls: _Parsed | _Tokens) -> str | None:
    """The problem of a text; None if it may be evaluated."""
    variable = _VARIABLE.search(text)
    if variable is not None:
        return f"has {variable[0]}, which Spark replaces by a setting or a variable of the process"
    return next(calls.problems(f"({text}\n)"), None)


class _Parsed:
    """The check of a text that a classic session parses."""

    def __init__(self, spark: SparkSession) -> None:
        state = java_state(spark)
        view: Any = java_view(spark)
        self._parser = state.sqlParser()
        # Its registry of functions takes other names from Spark 4.2 on.
        self._of_session = state.catalog()
        self._built_in = view.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
        self._identifier = view.org.apache.spark.sql.catalyst.FunctionIdentifier

    def problems(self, text: str) -> Iterator[str]:
        try:
            tree = parse_json(str(self._parser.parseExpression(text).toJSON()))
        except ParseException:
            yield "cannot be parsed by Spark"
            return
        for node in tree:
            package, _, kind = str(node["class"]).rpartition(".")
            if kind in _SUBQUERIES:
                yield "has a query of other rows"
            elif f"{package}." not in (_ANALYSIS, _EXPRESSIONS) or (
                f"{package}." == _ANALYSIS and kind not in _UNRESOLVED
            ):
                yield f"has an expression ({kind}) whose function is not known before it runs"
            elif kind == "UnresolvedFunction":
                parts = str(node["nameParts"])[1:-1].split(", ")
                if not self._is_own(parts):
                    yield f"calls {'.'.join(parts)}, which is not a function of Spark that tables may call"

    def _is_own(self, parts: list[str]) -> bool:
        """Whether a name refers to a function of Spark that tables may call, and not to a function of the session."""
        name = parts[-1].lower()
        if name in _REFUSED or [part.lower() for part in parts[:-1]] not in ([], *_BUILT_IN):
            return False
        known = self._built_in.lookupFunction(self._identifier(name))
        found = self._of_session.lookupBuiltinOrTempFunction(name)
        return bool(known.isDefined() and found.isDefined() and known.get().equals(found.get()))


class _Tokens:
    """The check of a text on Spark Connect. The client has only tokens, so it refuses more text."""

    def __init__(self, spark: SparkSession) -> None:
        key = session_id(spark)
        if key not in _SYSTEM_FUNCTIONS:
            _SYSTEM_FUNCTIONS[key] = frozenset(
                str(row[0]).lower() for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()
            )
        self._own = _SYSTEM_FUNCTIONS[key] - _REFUSED

    def problems(self, text: str) -> Iterator[str]:
        try:
            tokens = sql_tokens(text)
        except SchemaError:
            yield "cannot be parsed"
            return
        for i, token in enumerate(tokens[1:], 1):
            before = tokens[i - 1]
            if text[before.end : token.start].strip(" \t\n"):
                yield "has a comment or a blank whose meaning only Spark knows"
            if token.is_word("SELECT", "USING") or (before.is_symbol("(") and token.is_word(*_QUERIES)):
                yield "has a query of other rows"
            qualified = i > 1 and tokens[i - 2].is_symbol(".")
            if token.is_symbol("(") and before.kind != "symbol" and (qualified or not self._is_own(before)):
                yield f"calls {before.text}, which is not a function of Spark that tables may call"

    def _is_own(self, name: SqlToken) -> bool:
        if name.kind == "string":
            return False
        return name.text.lower() in self._own or (name.kind == "word" and name.text.upper() in _KEYWORDS)
