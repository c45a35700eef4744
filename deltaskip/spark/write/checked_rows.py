"""Rows to be written through Spark: casts, defaults, generated and identity columns, and the rules, in one projection.

The columns are computed and checked in the same pass that writes them. A row that violates a rule raises an error in
the job; `violation_of` finds the rule and the row in it. Only functions of Spark 3.5 and newer are used, and none whose
result depends on ANSI mode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.errors import InvalidArgument, RowViolation, UnsupportedFeature
from deltaskip.features.identity_columns import IdentityColumn
from deltaskip.lazy_regex import regex
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.rows.rules import rule_condition, value_violation, violation
from deltaskip.rows.shown_rows import row_of_json
from deltaskip.rows.store import VIOLATION
from deltaskip.schema.spark_collations import unknown_collations
from deltaskip.spark.columns.literal_columns import carrier_sql
from deltaskip.spark.columns.spark_types import HAS_COLLATIONS, logical_type
from deltaskip.spark.session.own_texts import check_functions, own_column, own_expressions
from deltaskip.spark.write.stored_text import check_plan
from deltaskip.sparkexpr import columns_in, is_valid_sql
from deltaskip.sparkexpr.text.sql_text import quoted_name, sql_string
from deltaskip.sparkexpr.types import StructType, fold_name

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
