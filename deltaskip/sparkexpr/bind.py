"""Binding: resolves names to fields, inserts Spark's implicit casts, and folds constants.

# Spark 4.1, Analyzer with AnsiTypeCoercion or TypeCoercion
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from deltaskip.errors import InvalidArgumentType, PredicateError
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.sparkexpr import coerce
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.bind_nested import is_closed, nested_cast, nested_comparison, nested_membership, takes_nested
from deltaskip.sparkexpr.clock import special_time
from deltaskip.sparkexpr.collations.collation_id import BINARY_NAME
from deltaskip.sparkexpr.comparison_collation import comparison_collation, is_collated
from deltaskip.sparkexpr.evaluation.rows import evaluate
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.functions.by_name import FUNCTIONS, PRESENT
from deltaskip.sparkexpr.functions.spark_functions import LITERAL_FUNCTIONS
from deltaskip.sparkexpr.functions.time_formats import READ_BY_CAST
from deltaskip.sparkexpr.literal_list import LiteralList
from deltaskip.sparkexpr.python_values import holds_dict, shaped
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.text.type_names import comparison_cure, sql_name
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.resolve import (
    AmbiguousName,
    InsideCollection,
    MappingMode,
    collation_inside,
    collation_of,
    display_name,
    fold_name,
    resolve,
)
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.sparkexpr.values.dates import DATE_FIELDS
from deltaskip.sparkexpr.values.interval_types import CALENDAR, INTERVALS, YEAR_MONTHS
from deltaskip.sparkexpr.values.intervals import made_interval, sum_with_interval
from deltaskip.sparkexpr.values.nanoseconds import compared_nanos
from deltaskip.sparkexpr.values.numerals import EXACT

# Spark adds this column to every file scan. It is not in the schema.
_METADATA_COLUMN = "_metadata"
_OF_NUMBERS = ("abs", "negative", "positive", "sign")


def bind(
    node: n.Node,
    schema: t.StructType,
    partition_columns: Collection[str] = (),
    mode: MappingMode = "none",
    time_zone: str = "UTC",
    *,
    ansi: bool = True,
) -> n.Node:
    """Return a predicate with columns resolved to FieldRefs, types as in Spark, and constants folded.

    A constant expression whose evaluation raises is not folded, because Spark raises only when it evaluates it. An
    expression that cannot be typed stays untyped, and proves nothing.

    Args:
        node: The predicate.
        schema: The table's schema.
        partition_columns: Logical names of the partition columns.
        mode: The table's column mapping mode.
        time_zone: The session's time zone.
        ansi: Whether types are coerced in ANSI mode. If not, an expression stays untyped if ANSI mode refuses it and
            other modes may accept it, and a call stays untyped if its arguments have another common type in ANSI mode.

    Raises:
        TypeMismatch: ANSI mode refuses the types, and other modes may accept them.
        PredicateError: A column is unknown or ambiguous, types are incompatible, the expression is not boolean, or the
            time zone does not exist.
    """
    bound = bind_expression(node, schema, partition_columns, mode, time_zone, ansi=ansi)
    cast = _as_boolean(bound, "A predicate")
    return bound if cast is bound else _fold(cast, time_zone)


def bind_expression(
    node: n.Node,
    schema: t.StructType,
    partition_columns: Collection[str] = (),
    mode: MappingMode = "none",
    time_zone: str = "UTC",
    *,
    ansi: bool = True,
) -> n.Node:
    """Bind an expression of any type, such as a generation expression. See `bind`."""
    if not isinstance(time_zone, str):
        raise InvalidArgumentType.of("time_zone", "a str such as 'Europe/Berlin'", time_zone)
    try:
        zone_of(time_zone)
    except LookupError as error:
        raise PredicateError(str(error)) from error
    if n.is_too_large(node):
        return n.Opaque("an expression that is too large", n.columns_of(node))
    scope = _Scope(schema, frozenset(fold_name(name) for name in partition_columns), mode, ansi, time_zone)
    return _fold(_typed(node, scope), time_zone)


def with_shapes(node: n.Node, schema: t.StructType) -> n.Node:
    """Return a predicate in which each dict is a struct, by the names of the fields that it is compared with, or a map.

    Raises PredicateError as `shaped` and `bind` do.
    """
    if not any(isinstance(part, n.Call) and part.name == "dict()" for part in n.operations(node)):
        return node
    scope = _Scope(schema, frozenset(), "none")

    @deep
    def visited(part: n.Node) -> n.Node:
        return n.transform(_with_shapes(part, scope), visited)

    return visited(node)


class TypeMismatch(PredicateError):
    """Types that ANSI mode does not accept together; without it, Spark may cast them."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The columns and the variables of enclosing lambda functions, by lower-case name, against which names resolve.

    resolved: The resolved columns by their parts as written: every use of a column is the same object.
    """

    schema: t.StructType
    partition_columns: frozenset[str]
    mode: MappingMode
    ansi: bool = True
    time_zone: str = "UTC"
    variables: Mapping[str, n.Variable] = field(default_factory=dict)
    depth: int = 0
    resolved: dict[tuple[str, ...], n.Node] = field(default_factory=dict)


@deep
def _typed(node: n.Node, scope: _Scope) -> n.Node:
    """`node` with all names resolved and operands coerced, bottom up."""
    if isinstance(node, n.Literal):
        return node
    if isinstance(node, n.Column):
        return _resolved(node, scope)
    if isinstance(node, n.Variable):
        return scope.variables.get(node.name.lower(), node)
    if (column := _as_column(node, scope)) is not None:
        return _resolved(column, scope)
    if isinstance(node, n.Call) and any(isinstance(arg, n.Lambda) for arg in node.args):
        return _higher_order(node, scope)
    if isinstance(node, n.Compare) and isinstance(node.right, n.Column):
        _check_quotes(node.right, scope)
    node = n.transform(_with_shapes(node, scope), lambda child: _typed(child, scope))
    try:
        return _coerced(node, scope)
    except TypeMismatch:
        if scope.ansi:
            raise
        return n.Opaque(to_sql(node), n.columns_of(node))


def _with_shapes(node: n.Node, scope: _Scope) -> n.Node:
    """A comparison whose dicts are structs by the names of the other side's fields; any other dict is a map."""
    match node:
        case n.Compare(op, left, right) if holds_dict(right):
            return n.Compare(op, left, shaped(right, coerce.type_of(_typed(left, scope))))
        case n.In(child, values) if not isinstance(values, LiteralList) and any(map(holds_dict, values)):
            type_ = coerce.type_of(_typed(child, scope))
            return n.In(child, tuple(shaped(value, type_) for value in values))
        case n.Call("dict()"):
            return shaped(node, None)
    return node


def _check_quotes(right: n.Column, scope: _Scope) -> None:
    """Raise PredicateError if the right side of a comparison is a word that names no column: it may lack quotes."""
    try:
        _resolved(right, scope)
    except (AmbiguousName, InsideCollection):
        return
    except PredicateError as error:
        name = ".".join(right.parts)
        cure = "Python's None is NULL: use IS NULL." if name == "None" else f"A text is written in quotes: '{name}'."
        raise type(error)(f"{error} {cure}") from error


def _as_column(node: n.Node, scope: _Scope) -> n.Column | None:
    """The column `st.a` for `st['a']`, a field of a struct column; None for other extractions."""
    names: list[str] = []
    part = node
    # Types have no more levels.
    while isinstance(part, n.Call) and len(names) <= t.DEEPEST:
        match part:
            case n.Call("[]", (inner, n.Literal(str() as name, _))):
                names.append(name)
                part = inner
            case _:
                return None
    if not names or not isinstance(part, n.Column):
        return None
    column = n.Column((*part.parts, *reversed(names)))
    try:
        resolve(scope.schema, column.parts, scope.mode)
    except PredicateError:
        return None
    return column


def _higher_order(node: n.Call, scope: _Scope) -> n.Node:
    """A call with lambda functions, whose variables have the types of the elements of the other arguments."""
    args = tuple(arg if isinstance(arg, n.Lambda) else _typed(arg, scope) for arg in node.args)
    function = FUNCTIONS.get(node.name)
    plain = tuple(arg for arg in args if not isinstance(arg, n.Lambda))
    known = all(coerce.type_of(arg) is not None and not is_collated(arg) for arg in plain)
    given = function.variables(args) if function is not None and function.variables is not None and known else None
    functions = [arg for arg in args if isinstance(arg, n.Lambda)]
    if given is None or len(given) != len(functions):
        return _left(node, scope)
    bound: list[n.Node] = []
    kinds = iter(given)
    for arg in args:
        if not isinstance(arg, n.Lambda):
            bound.append(arg)
            continue
        found = _bound_lambda(arg, next(kinds), scope)
        if found is None:
            return _left(node, scope)
        bound.append(found)
    return _call(n.Call(node.name, tuple(bound)), scope.ansi)


def _bound_lambda(node: n.Lambda, kinds: Sequence[tuple[t.DataType, bool]], scope: _Scope) -> n.Lambda | None:
    """A lambda function with typed variables, each with whether it may be NULL; None if it takes more variables."""
    if len(node.names) > len(kinds) or len({name.lower() for name in node.names}) < len(node.names):
        return None
    variables = {
        name.lower(): n.Variable(f"\0{scope.depth}\0{name}", *kind)
        for name, kind in zip(node.names, kinds, strict=False)
    }
    inner = replace(scope, variables={**scope.variables, **variables}, depth=scope.depth + 1)
    return n.Lambda(tuple(variable.name for variable in variables.values()), _typed(node.body, inner))


def _left(node: n.Node, scope: _Scope) -> n.Opaque:
    """The node as an Opaque node, which only Spark can evaluate."""
    return n.Opaque(to_sql(node), tuple(_resolved_parts(parts, scope) for parts in n.columns_of(node)))


def _coerced(node: n.Node, scope: _Scope) -> n.Node:
    """`node`, whose operands are bound, with its operands coerced."""
    match node:
        case n.Compare() | n.In() if (nanos := compared_nanos(node, scope.time_zone)) is not None:
            return nanos
        case n.Compare(op, left, right):
            return _comparison(op, left, right, scope.ansi)
        case n.And(children):
            return n.And(tuple(_as_boolean(child, "An operand of AND") for child in children))
        case n.Or(children):
            return n.Or(tuple(_as_boolean(child, "An operand of OR") for child in children))
        case n.Not(child):
            return n.Not(_as_boolean(child, "The operand of NOT"))
        case n.In(child, values):
            return _membership(child, values, scope.ansi)
        case n.Like(child, pattern) | n.StartsWith(child, pattern):
            return _pattern(node, child, pattern)
        case n.Cast():
            return _cast(node)
        case n.Collate(child, collation):
            if coerce.type_of(child) not in (None, t.STRING, t.VOID):
                raise PredicateError(f"COLLATE {collation} needs a STRING, not {sql_name(coerce.type_of(child))}.")
            return n.Collate(_as_text(child), collation)
        case n.Case(branches, otherwise):
            return _case(branches, otherwise, scope.ansi)
        case n.Call():
            return _call(node, scope.ansi)
        case n.Opaque(_, columns):
            return replace(node, columns=tuple(_resolved_parts(parts, scope) for parts in columns))
        case _:
            return node


def _resolved(column: n.Column, scope: _Scope) -> n.Node:
    node = scope.resolved.get(column.parts)
    if node is None:
        node = scope.resolved[column.parts] = _looked_up(column, scope)
    return node


def _looked_up(column: n.Column, scope: _Scope) -> n.Node:
    try:
        found = resolve(scope.schema, column.parts, scope.mode)
    except InsideCollection:
        return _inside_collection(column, scope)
    except PredicateError:
        if _is_function(column, scope):
            return _call(n.Call(fold_name(column.parts[0]), ()), scope.ansi)
        if fold_name(column.parts[0]) == _METADATA_COLUMN:
            return n.Opaque(display_name(column.parts), (column.parts,))
        raise
    return n.FieldRef(
        found.logical,
        found.physical,
        found.type,
        found.nullable,
        len(found.logical) == 1 and fold_name(found.logical[0]) in scope.partition_columns,
        collation_inside(found.field) if coerce.is_nested(found.type) else collation_of(found),
        isinstance(column, n.UncollatedColumn),
    )


def _inside_collection(column: n.Column, scope: _Scope) -> n.Node:
    """`a.b` of an array or a map: the fields of its elements, or the value of a key."""
    for count in range(len(column.parts) - 1, 0, -1):
        try:
            resolve(scope.schema, column.parts[:count], scope.mode)
        except InsideCollection:
            continue
        node = _resolved(n.Column(column.parts[:count]), scope)
        for name in column.parts[count:]:
            node = _call(n.Call("[]", (node, n.Literal(name, t.STRING))), scope.ansi)
        return node
    return n.Opaque(display_name(column.parts), (column.parts,))


def _is_function(column: n.Column, scope: _Scope) -> bool:
    """Whether the name is a function without parentheses, such as `current_date`, and not a column."""
    name = fold_name(column.parts[0])
    known = any(fold_name(field.name) == name for field in scope.schema.fields)
    return len(column.parts) == 1 and name in LITERAL_FUNCTIONS and not known


def _resolved_parts(parts: tuple[str, ...], scope: _Scope) -> tuple[str, ...]:
    try:
        return resolve(scope.schema, parts, scope.mode).logical
    except PredicateError:
        return parts


def _comparison(op: str, left: n.Node, right: n.Node, ansi: bool) -> n.Node:
    reduced = _integer_beside_decimal(op, left, right)
    if reduced is not None:
        return reduced
    left, right = _as_narrow_decimal(left, right), _as_narrow_decimal(right, left)
    left_type, right_type = coerce.type_of(left), coerce.type_of(right)
    if left_type is None or right_type is None:
        return n.Compare(op, left, right)
    if not _check_comparable((left_type, right_type), op, ansi):
        return n.Opaque(to_sql(n.Compare(op, left, right)), n.columns_of(n.Compare(op, left, right)))
    if coerce.is_nested(left_type) and coerce.is_nested(right_type):
        return nested_comparison(op, left, right, ansi)
    if _is_beyond(left, right_type) or _is_beyond(right, left_type):
        return n.Opaque(to_sql(n.Compare(op, left, right)), n.columns_of(n.Compare(op, left, right)))
    met = coerce.compared_type(left_type, right_type, ansi=ansi)
    if met is None:
        if not (_is_atomic(left_type) and _is_atomic(right_type)):
            return n.Compare(op, left, right)
        raise TypeMismatch(
            f"{sql_name(left_type)} {op} {sql_name(right_type)} is not a valid comparison in Spark SQL "
            f"(DATATYPE_MISMATCH): {comparison_cure(left_type, right_type)}."
        )
    if met == t.STRING:
        comparison_collation(left, right)
    return n.Compare(op, coerce.cast_to(left, met), coerce.cast_to(right, met))


def _check_comparable(types: Collection[t.DataType], op: str, ansi: bool) -> bool:
    """Whether values of types may be compared here; otherwise only Spark knows.

    Raises PredicateError if Spark never compares them: maps, variants, values of the type `interval`, and arrays,
    structs or other intervals with values of another kind.
    """
    kinds = {_kind(type_) for type_ in types if type_ != t.VOID}
    if kinds <= {"atomic"} or None in kinds:
        return None not in kinds
    if not ansi and op == "IN" and t.STRING in types:
        # Spark 4.1, TypeCoercion: values beside a string in a list become strings.
        return False
    if len(kinds) > 1 or not kinds.isdisjoint(("map", "variant", "interval")):
        names = f"IN with {', '.join(map(sql_name, types))}" if op == "IN" else f" {op} ".join(map(sql_name, types))
        cure = ": compare with several values by isin or IN" if "array" in kinds and "atomic" in kinds else ""
        raise PredicateError(f"{names} is not a valid comparison in Spark SQL (DATATYPE_MISMATCH){cure}.")
    return True


def _kind(type_: t.DataType) -> str | None:
    """The kind of values with which Spark compares values of a type; None if it is not known."""
    match type_:
        case t.ArrayType() | t.StructType() | t.MapType():
            return type(type_).__name__.removesuffix("Type").lower()
        case _ if type_ in INTERVALS:
            return "interval" if type_ == CALENDAR else "months" if type_ in YEAR_MONTHS else "time"
        case t.UnknownType() | t.GeometryType() | t.GeographyType():
            return None
    return "variant" if type_ == t.VARIANT else "atomic"


def _is_beyond(node: n.Node, type_: t.DataType | None) -> bool:
    """Whether the node is a string with an integer out of the range of `type_`: NULL of that type without ANSI mode."""
    bits = t.INTEGRAL_BITS.get(type_, 64) if type_ is not None else 64
    if bits == 64 or not (isinstance(node, n.Literal) and isinstance(node.value, str)):
        return False
    digits = node.value.strip()
    if not digits.lstrip("+-").isdecimal() or len(digits) > 20:
        return False
    return not -(1 << (bits - 1)) <= int(digits) < 1 << (bits - 1)


def _integer_beside_decimal(op: str, left: n.Node, right: n.Node) -> n.Node | None:
    """Spark's reduction of an inequality between an integer and a decimal literal; None if it does not apply.

    A literal beyond bigint makes the comparison TRUE or FALSE even for NULL: `i < 1e30BD` is TRUE where i is NULL.
    """
    if op not in ("<", "<=", ">", ">="):
        return None
    if _is_decimal_literal(left) and coerce.type_of(right) in t.INTEGRAL_BITS:
        return _integer_beside_decimal(n.MIRRORED[op], right, left)
    if not (_is_decimal_literal(right) and coerce.type_of(left) in t.INTEGRAL_BITS):
        return None
    value = right.value if isinstance(right, n.Literal) else None
    if not isinstance(value, Decimal):
        return None
    if not -(2**63) <= value <= 2**63 - 1:
        return n.Literal((value > 0) == (op in ("<", "<=")), t.BOOLEAN)
    rounding = ROUND_FLOOR if op in (">", "<=") else ROUND_CEILING
    return n.Compare(op, coerce.cast_to(left, t.LONG), n.Literal(int(value.to_integral_value(rounding, EXACT)), t.LONG))


def _as_narrow_decimal(node: n.Node, other: n.Node) -> n.Node:
    """An integral literal compared with a decimal, as a decimal of the fewest digits: the column is rarely cast."""
    if isinstance(node, n.Literal) and isinstance(node.value, int) and isinstance(coerce.type_of(other), t.DecimalType):
        return (
            coerce.cast_to(node, coerce.literal_decimal(node.value, node.type))
            if node.type in t.INTEGRAL_BITS
            else node
        )
    return node


def _is_decimal_literal(node: n.Node) -> bool:
    return isinstance(node, n.Literal) and isinstance(node.type, t.DecimalType) and node.value is not None


def _is_atomic(type_: t.DataType) -> bool:
    return type_ in coerce.ATOMIC or isinstance(type_, t.DecimalType)


def _membership(child: n.Node, values: Sequence[n.Node], ansi: bool) -> n.Node:
    if isinstance(values, LiteralList):
        found = _long_membership(child, values)
        if found is not None:
            return found
        values = tuple(values)
    types = {coerce.type_of(child): None} | dict.fromkeys(coerce.type_of(value) for value in values)
    known = [type_ for type_ in types if type_ is not None]
    if len(known) < len(types):
        return n.In(child, values)
    if not _check_comparable(known, "IN", ansi):
        return n.Opaque(to_sql(n.In(child, values)), n.columns_of(n.In(child, values)))
    if not all(_is_atomic(type_) or type_ == t.VOID for type_ in known):
        return nested_membership(child, values, known, ansi)
    met = coerce.common_type(known, ansi=ansi)
    if met is None:
        names = ", ".join(sql_name(type_) for type_ in known)
        raise TypeMismatch(f"IN does not accept the types {names} together (DATATYPE_MISMATCH): cast the values.")
    if met == t.STRING:
        comparison_collation(child, *(value for value in values if not isinstance(value, n.Literal)))
    return n.In(coerce.cast_to(child, met), tuple([_widened(value, met) for value in values]))


def _long_membership(child: n.Node, values: LiteralList) -> n.Node | None:
    """IN over a list that stays one array; None if its values must be cast one by one, or have no common type."""
    type_ = coerce.type_of(child)
    if type_ == t.STRING and values.types == (t.STRING,):
        comparison_collation(child)
        return n.In(child, values)
    if type_ not in t.INTEGRAL_BITS or t.STRING in values.types:
        return None
    # A value beyond the child's type is never equal to it, so that the child need not be cast.
    within = values.within(type_)
    return n.In(child, within) if len(within) else None


def _widened(value: n.Node, met: t.DataType) -> n.Node:
    """`value` cast to `met`. An integral literal is converted directly, because lists of them are long."""
    if isinstance(value, n.Literal) and value.value is not None and value.type != met:
        bits, needed = t.INTEGRAL_BITS.get(met, 0), t.INTEGRAL_BITS.get(value.type, 64)
        if needed < bits:
            return n.Literal(value.value, met)
    return coerce.cast_to(value, met)


def _cast(node: n.Cast) -> n.Node:
    made = made_interval(node.child.name, node.child.args) if isinstance(node.child, n.Call) else None
    node = node if made is None else replace(node, child=made)
    source = coerce.type_of(node.child)
    if source is None:
        return node
    if source == t.VARIANT:
        # The cast of a JSON null is NULL, though the variant is not.
        name = "try_cast(variant)" if node.safe else "cast(variant)"
        return _call(n.Call(name, (node.child, n.Literal(None, node.type))))
    refused = f"{sql_name(source)} cannot be cast to {sql_name(node.type)} in Spark SQL (CAST_WITHOUT_SUGGESTION)."
    if source in INTERVALS and not coerce.castable(source, node.type):
        raise PredicateError(refused)
    if node.type == t.VARIANT and source != t.VOID:
        return _call(n.Call("as_variant()", (node.child,)))
    if coerce.is_nested(source) or coerce.is_nested(node.type):
        return nested_cast(node, source)
    if _is_atomic(source) and not coerce.castable(source, node.type):
        raise TypeMismatch(refused)
    if not (_is_atomic(source) or source == t.VOID or source in INTERVALS):
        return n.Opaque(to_sql(node), n.columns_of(node))
    if source != node.type:
        return node
    # A cast to STRING removes the collation.
    return n.Collate(node.child, "UTF8_BINARY") if source == t.STRING and is_collated(node.child) else node.child


def _case(branches: tuple[tuple[n.Node, n.Node], ...], otherwise: n.Node | None, ansi: bool) -> n.Node:
    for condition, _ in branches:
        if (type_ := coerce.type_of(condition)) in (t.STRING, t.VOID):
            raise TypeMismatch(f"A condition of CASE must be BOOLEAN, not {sql_name(type_)}: compare it with a value.")
    tested = tuple((_as_boolean(condition, "A condition of CASE"), value) for condition, value in branches)
    values = [value for _, value in tested] + ([] if otherwise is None else [otherwise])
    types = [type_ for value in values if (type_ := coerce.type_of(value)) is not None]
    met = coerce.common_type(types, ansi=ansi) if len(types) == len(values) else None
    if met is None:
        return n.Case(tested, otherwise)
    cast = tuple((condition, coerce.cast_to(value, met)) for condition, value in tested)
    return n.Case(cast, None if otherwise is None else coerce.cast_to(otherwise, met))


def _call(node: n.Call, ansi: bool = True) -> n.Node:
    clock = "unix_timestamp()" if node.name == "unix_timestamp" else node.name
    if not node.args and clock in PRESENT:
        return n.Call(clock, (), PRESENT[clock])
    if len(node.args) == 1 and node.name in READ_BY_CAST and coerce.type_of(node.args[0]) is not None:
        return _cast(n.Cast(*_read(node.name, node.args[0])))
    found_node = sum_with_interval(node) or made_interval(node.name, node.args)
    if found_node is not None:
        return found_node if coerce.type_of(found_node) != CALENDAR else n.Call(node.name, node.args, CALENDAR)
    function = FUNCTIONS.get(node.name)
    if function is None or any(coerce.type_of(arg) is None for arg in node.args if not isinstance(arg, n.Lambda)):
        return n.Call(node.name, node.args)
    if function.widens and not ansi and not _widens_alike(node.args):
        return n.Call(node.name, node.args)
    if function.ansi_only and not ansi:
        return n.Call(node.name, node.args)
    found = function.signature(node.args)
    if found is None:
        _check_arguments(node)
        return n.Call(node.name, node.args)
    if not ansi and found[0] != node.args and any(map(coerce.is_nested, (found[1], *map(coerce.type_of, node.args)))):
        # The common type may differ without ANSI mode.
        return n.Call(node.name, node.args)
    return n.Call(node.name, found[0], found[1])


def _read(name: str, arg: n.Node) -> tuple[n.Node, t.DataType]:
    """The operand and the target of the cast that replaces `to_date(arg)` and the like: others become strings first.

    # Spark 4.1, ParseToDate and ParseToTimestamp
    """
    target, source = READ_BY_CAST[name], coerce.type_of(arg)
    kept = (
        source in (t.STRING, t.VOID, *t.DATETIMES)
        or (target == t.TIMESTAMP and coerce.is_numeric(source))
        or coerce.is_nested(source)
    )
    return (arg if kept else _cast(n.Cast(arg, t.STRING))), target


def _widens_alike(args: Sequence[n.Node]) -> bool:
    """Whether arguments have the same common type with and without ANSI mode."""
    types = [type_ for arg in args if (type_ := coerce.type_of(arg)) is not None]
    return coerce.common_type(types) == coerce.common_type(types, ansi=False)


def _check_arguments(node: n.Call) -> None:
    """Raise for argument types that Spark refuses, for functions without a signature."""
    types = [type_ for arg in node.args if (type_ := coerce.type_of(arg)) is not None]
    nested = any(map(coerce.is_nested, types)) and not takes_nested(node.name)
    if node.name in n.ARITHMETIC:
        plain = all(coerce.is_numeric(type_) or type_ in (t.BOOLEAN, t.BINARY, *t.DATETIMES) for type_ in types)
        timed = any(map(coerce.is_numeric, types)) and any(type_ in t.DATETIMES for type_ in types)
        added_days = node.name in "+-" and t.DATE in types
        wrong = plain and (t.BOOLEAN in types or t.BINARY in types or (timed and not added_days))
    elif node.name in _OF_NUMBERS:
        wrong = types[0] in (t.BOOLEAN, t.BINARY, *t.DATETIMES)
    else:
        wrong = node.name in DATE_FIELDS and (coerce.is_numeric(types[0]) or types[0] in (t.BOOLEAN, t.BINARY))
    if nested or wrong:
        names = ", ".join(map(sql_name, types))
        raise TypeMismatch(f"{to_sql(node)} is not valid in Spark SQL for {names} (DATATYPE_MISMATCH): cast them.")


def _as_boolean(node: n.Node, what: str) -> n.Node:
    type_ = coerce.type_of(node)
    if type_ is None or type_ == t.BOOLEAN:
        return node
    if type_ in (t.VOID, t.STRING) and what != "A predicate":
        return coerce.cast_to(node, t.BOOLEAN)
    raise PredicateError(f"{what} must be BOOLEAN, not {sql_name(type_)}: compare it with a value.")


def _pattern(node: n.Like | n.StartsWith, child: n.Node, pattern: n.Node) -> n.Node:
    """LIKE or STARTSWITH, whose operands Spark casts to strings."""
    if isinstance(node, n.StartsWith) and coerce.type_of(child) == coerce.type_of(pattern) == t.BINARY:
        return node
    if isinstance(node, n.Like) and not isinstance(pattern, n.Literal) and is_collated(child, pattern):
        # Spark 4.1, Like: the collation is that of the text, also beside a pattern with an explicit one. It refuses
        # texts with other collations than these two.
        own = comparison_collation(child) or BINARY_NAME
        if own.rpartition(".")[2].upper() in (BINARY_NAME, "UTF8_LCASE"):
            pattern = n.Collate(_as_text(pattern), own)
    operands = (child, pattern)
    comparison_collation(*operands)
    cast = [_as_text(operand) for operand in operands]
    if any(type_ is not None and coerce.is_nested(type_) for type_ in map(coerce.type_of, cast)):
        names = " and ".join(sql_name(coerce.type_of(operand)) for operand in operands)
        raise PredicateError(f"{to_sql(node)} is not valid in Spark SQL for {names} (DATATYPE_MISMATCH): cast them.")
    if any(coerce.type_of(operand) not in (None, t.STRING) for operand in cast):
        return n.Opaque(to_sql(node), n.columns_of(node))
    if isinstance(node, n.Like):
        return n.Like(cast[0], cast[1], node.escape, node.case_insensitive)
    return n.StartsWith(cast[0], cast[1])


def _as_text(node: n.Node) -> n.Node:
    """`node` cast to string for LIKE and STARTSWITH; unchanged if Spark does not cast it implicitly."""
    if coerce.type_of(node) == t.VARIANT:
        return _cast(n.Cast(node, t.STRING))
    cast = coerce.implicit_cast(node, t.STRING)
    return node if cast is None else cast


@deep
def _fold(node: n.Node, time_zone: str) -> n.Node:
    """`node` with constant subexpressions replaced by their values."""
    if isinstance(node, (n.Literal, n.FieldRef, n.Opaque, n.Variable)):
        return node
    node = n.transform(node, lambda child: _fold(child, time_zone))
    if not all(isinstance(child, n.Literal) or is_closed(child) for child in n.children_of(node)):
        return node
    type_ = coerce.type_of(node)
    if type_ is None or isinstance(type_, t.GEOSPATIAL):
        # A shape stays as it was written, which may be WKT.
        return node
    if isinstance(node, n.Collate):
        # A literal has no collation, and an explicit collation applies to the whole comparison.
        return node
    match node:
        case n.Cast(n.Literal(str() as text), target) if target in t.DATETIMES and (time := special_time(text, target)):
            return time
        case n.Call(name) if name not in FUNCTIONS:
            return node
    try:
        return n.Literal(evaluate(node, {}, time_zone), type_)
    except (EvaluationError, PredicateError):
        return node
