"""Binding: resolves names to fields, inserts Spark's implicit casts, and folds constants.

# Spark 4.1, Analyzer with AnsiTypeCoercion or TypeCoercion
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from deltaskip.errors import InvalidArgumentType, PredicateError
from deltaskip.records import dataclass
from deltaskip.sparkexpr.bind_nested import is_closed, nested_cast, nested_comparison, nested_membership, takes_nested
from deltaskip.sparkexpr.clock import special_time
from deltaskip.sparkexpr.coerce import (
    ATOMIC,
    cast_to,
    castable,
    common_type,
    compared_type,
    implicit_cast,
    is_nested,
    is_numeric,
    literal_decimal,
    type_of,
)
from deltaskip.sparkexpr.collations.collation_id import BINARY_NAME
from deltaskip.sparkexpr.comparison_collation import comparison_collation, is_collated
from deltaskip.sparkexpr.evaluation.rows import evaluate
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.functions.by_name import FUNCTIONS, PRESENT
from deltaskip.sparkexpr.functions.spark_functions import LITERAL_FUNCTIONS
from deltaskip.sparkexpr.functions.time_formats import READ_BY_CAST
from deltaskip.sparkexpr.literal_list import LiteralList
from deltaskip.sparkexpr.nodes import (
    ARITHMETIC,
    MIRRORED,
    And,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Compare,
    FieldRef,
    In,
    Lambda,
    Like,
    Literal,
    Node,
    Not,
    Opaque,
    Or,
    StartsWith,
    Variable,
    children_of,
    columns_of,
    is_too_large,
    operations,
    transform,
)
from deltaskip.sparkexpr.python_values import holds_dict, shaped
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.text.type_names import comparison_cure, sql_name
from deltaskip.sparkexpr.types.data_types import (
    BINARY,
    BOOLEAN,
    DATE,
    DATETIMES,
    INTEGRAL_BITS,
    LONG,
    STRING,
    TIMESTAMP,
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    UnknownType,
)
from deltaskip.sparkexpr.types.physical_names import MappingMode
from deltaskip.sparkexpr.types.resolve import (
    AmbiguousName,
    InsideCollection,
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
from deltaskip.sparkexpr.values.numerals import EXACT

# Spark adds this column to every file scan. It is not in the schema.
_METADATA_COLUMN = "_metadata"
_OF_NUMBERS = ("abs", "negative", "positive", "sign")


def bind(
    node: Node,
    schema: StructType,
    partition_columns: Collection[str] = (),
    mode: MappingMode = "none",
    time_zone: str = "UTC",
    *,
    ansi: bool = True,
) -> Node:
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
    node: Node,
    schema: StructType,
    partition_columns: Collection[str] = (),
    mode: MappingMode = "none",
    time_zone: str = "UTC",
    *,
    ansi: bool = True,
) -> Node:
    """Bind an expression of any type, such as a generation expression. See `bind`."""
    if not isinstance(time_zone, str):
        raise InvalidArgumentType.of("time_zone", "a str such as 'Europe/Berlin'", time_zone)
    try:
        zone_of(time_zone)
    except LookupError as error:
        raise PredicateError(str(error)) from error
    if is_too_large(node):
        return Opaque("an expression nested too deeply, or too large", columns_of(node))
    scope = _Scope(schema, frozenset(fold_name(name) for name in partition_columns), mode, ansi)
    return _fold(_typed(node, scope), time_zone)


def with_shapes(node: Node, schema: StructType) -> Node:
    """Return a predicate in which each dict is a struct, by the names of the fields that it is compared with, or a map.

    Raises PredicateError as `shaped` and `bind` do.
    """
    if not any(isinstance(part, Call) and part.name == "dict()" for part in operations(node)):
        return node
    scope = _Scope(schema, frozenset(), "none")

    def visited(part: Node) -> Node:
        return transform(_with_shapes(part, scope), visited)

    return visited(node)


class TypeMismatch(PredicateError):
    """Types that ANSI mode does not accept together; without it, Spark may cast them."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The columns and the variables of enclosing lambda functions, by lower-case name, against which names resolve.

    resolved: The resolved columns by their parts as written: every use of a column is the same object.
    """

    schema: StructType
    partition_columns: frozenset[str]
    mode: MappingMode
    ansi: bool = True
    variables: Mapping[str, Variable] = field(default_factory=dict)
    depth: int = 0
    resolved: dict[tuple[str, ...], Node] = field(default_factory=dict)


def _typed(node: Node, scope: _Scope) -> Node:
    """`node` with all names resolved and operands coerced, bottom up."""
    if isinstance(node, Literal):
        return node
    if isinstance(node, Column):
        return _resolved(node, scope)
    if isinstance(node, Variable):
        return scope.variables.get(node.name.lower(), node)
    if (column := _as_column(node, scope)) is not None:
        return _resolved(column, scope)
    if isinstance(node, Call) and any(isinstance(arg, Lambda) for arg in node.args):
        return _higher_order(node, scope)
    if isinstance(node, Compare) and isinstance(node.right, Column):
        _check_quotes(node.right, scope)
    node = transform(_with_shapes(node, scope), lambda child: _typed(child, scope))
    try:
        return _coerced(node, scope)
    except TypeMismatch:
        if scope.ansi:
            raise
        return Opaque(to_sql(node), columns_of(node))


def _with_shapes(node: Node, scope: _Scope) -> Node:
    """A comparison whose dicts are structs by the names of the other side's fields; any other dict is a map."""
    match node:
        case Compare(op, left, right) if holds_dict(right):
            return Compare(op, left, shaped(right, type_of(_typed(left, scope))))
        case In(child, values) if not isinstance(values, LiteralList) and any(map(holds_dict, values)):
            type_ = type_of(_typed(child, scope))
            return In(child, tuple(shaped(value, type_) for value in values))
        case Call("dict()"):
            return shaped(node, None)
    return node


def _check_quotes(right: Column, scope: _Scope) -> None:
    """Raise PredicateError if the right side of a comparison is a word that names no column: it may lack quotes."""
    try:
        _resolved(right, scope)
    except (AmbiguousName, InsideCollection):
        return
    except PredicateError as error:
        name = ".".join(right.parts)
        cure = "Python's None is NULL: use IS NULL." if name == "None" else f"A text is written in quotes: '{name}'."
        raise type(error)(f"{error} {cure}") from error


def _as_column(node: Node, scope: _Scope) -> Column | None:
    """The column `st.a` for `st['a']`, a field of a struct column; None for other extractions."""
    match node:
        case Call("[]", (Column(parts), Literal(str() as name, _))):
            column = Column((*parts, name))
        case Call("[]", (Call("[]") as inner, Literal(str() as name, _))):
            found = _as_column(inner, scope)
            if found is None:
                return None
            column = Column((*found.parts, name))
        case _:
            return None
    try:
        resolve(scope.schema, column.parts, scope.mode)
    except PredicateError:
        return None
    return column


def _higher_order(node: Call, scope: _Scope) -> Node:
    """A call with lambda functions, whose variables have the types of the elements of the other arguments."""
    args = tuple(arg if isinstance(arg, Lambda) else _typed(arg, scope) for arg in node.args)
    function = FUNCTIONS.get(node.name)
    plain = tuple(arg for arg in args if not isinstance(arg, Lambda))
    known = all(type_of(arg) is not None and not is_collated(arg) for arg in plain)
    given = function.variables(args) if function is not None and function.variables is not None and known else None
    functions = [arg for arg in args if isinstance(arg, Lambda)]
    if given is None or len(given) != len(functions):
        return _left(node, scope)
    bound: list[Node] = []
    kinds = iter(given)
    for arg in args:
        if not isinstance(arg, Lambda):
            bound.append(arg)
            continue
        found = _bound_lambda(arg, next(kinds), scope)
        if found is None:
            return _left(node, scope)
        bound.append(found)
    return _call(Call(node.name, tuple(bound)), scope.ansi)


def _bound_lambda(node: Lambda, kinds: Sequence[tuple[DataType, bool]], scope: _Scope) -> Lambda | None:
    """A lambda function with typed variables, each with whether it may be NULL; None if it takes more variables."""
    if len(node.names) > len(kinds) or len({name.lower() for name in node.names}) < len(node.names):
        return None
    variables = {
        name.lower(): Variable(f"\0{scope.depth}\0{name}", *kind) for name, kind in zip(node.names, kinds, strict=False)
    }
    inner = replace(scope, variables={**scope.variables, **variables}, depth=scope.depth + 1)
    return Lambda(tuple(variable.name for variable in variables.values()), _typed(node.body, inner))


def _left(node: Node, scope: _Scope) -> Opaque:
    """The node as an Opaque node, which only Spark can evaluate."""
    return Opaque(to_sql(node), tuple(_resolved_parts(parts, scope) for parts in columns_of(node)))


def _coerced(node: Node, scope: _Scope) -> Node:
    """`node`, whose operands are bound, with its operands coerced."""
    match node:
        case Compare(op, left, right):
            return _comparison(op, left, right, scope.ansi)
        case And(children):
            return And(tuple(_as_boolean(child, "An operand of AND") for child in children))
        case Or(children):
            return Or(tuple(_as_boolean(child, "An operand of OR") for child in children))
        case Not(child):
            return Not(_as_boolean(child, "The operand of NOT"))
        case In(child, values):
            return _membership(child, values, scope.ansi)
        case Like(child, pattern) | StartsWith(child, pattern):
            return _pattern(node, child, pattern)
        case Cast():
            return _cast(node)
        case Collate(child, collation):
            if type_of(child) not in (None, STRING, VOID):
                raise PredicateError(f"COLLATE {collation} needs a STRING, not {sql_name(type_of(child))}.")
            return Collate(_as_text(child), collation)
        case Case(branches, otherwise):
            return _case(branches, otherwise, scope.ansi)
        case Call():
            return _call(node, scope.ansi)
        case Opaque(_, columns):
            return replace(node, columns=tuple(_resolved_parts(parts, scope) for parts in columns))
        case _:
            return node


def _resolved(column: Column, scope: _Scope) -> Node:
    node = scope.resolved.get(column.parts)
    if node is None:
        node = scope.resolved[column.parts] = _looked_up(column, scope)
    return node


def _looked_up(column: Column, scope: _Scope) -> Node:
    try:
        found = resolve(scope.schema, column.parts, scope.mode)
    except InsideCollection:
        return _inside_collection(column, scope)
    except PredicateError:
        if _is_function(column, scope):
            return _call(Call(fold_name(column.parts[0]), ()), scope.ansi)
        if fold_name(column.parts[0]) == _METADATA_COLUMN:
            return Opaque(display_name(column.parts), (column.parts,))
        raise
    return FieldRef(
        found.logical,
        found.physical,
        found.type,
        found.nullable,
        len(found.logical) == 1 and fold_name(found.logical[0]) in scope.partition_columns,
        collation_inside(found.field) if is_nested(found.type) else collation_of(found),
    )


def _inside_collection(column: Column, scope: _Scope) -> Node:
    """`a.b` of an array or a map: the fields of its elements, or the value of a key."""
    for count in range(len(column.parts) - 1, 0, -1):
        try:
            resolve(scope.schema, column.parts[:count], scope.mode)
        except InsideCollection:
            continue
        node = _resolved(Column(column.parts[:count]), scope)
        for name in column.parts[count:]:
            node = _call(Call("[]", (node, Literal(name, STRING))), scope.ansi)
        return node
    return Opaque(display_name(column.parts), (column.parts,))


def _is_function(column: Column, scope: _Scope) -> bool:
    """Whether the name is a function without parentheses, such as `current_date`, and not a column."""
    name = fold_name(column.parts[0])
    known = any(fold_name(field.name) == name for field in scope.schema.fields)
    return len(column.parts) == 1 and name in LITERAL_FUNCTIONS and not known


def _resolved_parts(parts: tuple[str, ...], scope: _Scope) -> tuple[str, ...]:
    try:
        return resolve(scope.schema, parts, scope.mode).logical
    except PredicateError:
        return parts


def _comparison(op: str, left: Node, right: Node, ansi: bool) -> Node:
    reduced = _integer_beside_decimal(op, left, right)
    if reduced is not None:
        return reduced
    left, right = _as_narrow_decimal(left, right), _as_narrow_decimal(right, left)
    left_type, right_type = type_of(left), type_of(right)
    if left_type is None or right_type is None:
        return Compare(op, left, right)
    if not _check_comparable((left_type, right_type), op, ansi):
        return Opaque(to_sql(Compare(op, left, right)), columns_of(Compare(op, left, right)))
    if is_nested(left_type) and is_nested(right_type):
        return nested_comparison(op, left, right, ansi)
    if _is_beyond(left, right_type) or _is_beyond(right, left_type):
        return Opaque(to_sql(Compare(op, left, right)), columns_of(Compare(op, left, right)))
    met = compared_type(left_type, right_type, ansi=ansi)
    if met is None:
        if not (_is_atomic(left_type) and _is_atomic(right_type)):
            return Compare(op, left, right)
        raise TypeMismatch(
            f"{sql_name(left_type)} {op} {sql_name(right_type)} is not a valid comparison in Spark SQL "
            f"(DATATYPE_MISMATCH): {comparison_cure(left_type, right_type)}."
        )
    if met == STRING:
        comparison_collation(left, right)
    return Compare(op, cast_to(left, met), cast_to(right, met))


def _check_comparable(types: Collection[DataType], op: str, ansi: bool) -> bool:
    """Whether values of types may be compared here; otherwise only Spark knows.

    Raises PredicateError if Spark never compares them: maps, variants, values of the type `interval`, and arrays,
    structs or other intervals with values of another kind.
    """
    kinds = {_kind(type_) for type_ in types if type_ != VOID}
    if kinds <= {"atomic"} or None in kinds:
        return None not in kinds
    if not ansi and op == "IN" and STRING in types:
        # Spark 4.1, TypeCoercion: values beside a string in a list become strings.
        return False
    if len(kinds) > 1 or not kinds.isdisjoint(("map", "variant", "interval")):
        names = f"IN with {', '.join(map(sql_name, types))}" if op == "IN" else f" {op} ".join(map(sql_name, types))
        cure = ": compare with several values by isin or IN" if "array" in kinds and "atomic" in kinds else ""
        raise PredicateError(f"{names} is not a valid comparison in Spark SQL (DATATYPE_MISMATCH){cure}.")
    return True


def _kind(type_: DataType) -> str | None:
    """The kind of values with which Spark compares values of a type; None if it is not known."""
    match type_:
        case ArrayType() | StructType() | MapType():
            return type(type_).__name__.removesuffix("Type").lower()
        case _ if type_ in INTERVALS:
            return "interval" if type_ == CALENDAR else "months" if type_ in YEAR_MONTHS else "time"
        case UnknownType():
            return None
    return "variant" if type_ == VARIANT else "atomic"


def _is_beyond(node: Node, type_: DataType | None) -> bool:
    """Whether the node is a string with an integer out of the range of `type_`: NULL of that type without ANSI mode."""
    bits = INTEGRAL_BITS.get(type_, 64) if type_ is not None else 64
    if bits == 64 or not (isinstance(node, Literal) and isinstance(node.value, str)):
        return False
    digits = node.value.strip()
    if not digits.lstrip("+-").isdecimal() or len(digits) > 20:
        return False
    return not -(1 << (bits - 1)) <= int(digits) < 1 << (bits - 1)


def _integer_beside_decimal(op: str, left: Node, right: Node) -> Node | None:
    """Spark's reduction of an inequality between an integer and a decimal literal; None if it does not apply.

    A literal beyond bigint makes the comparison TRUE or FALSE even for NULL: `i < 1e30BD` is TRUE where i is NULL.
    """
    if op not in ("<", "<=", ">", ">="):
        return None
    if _is_decimal_literal(left) and type_of(right) in INTEGRAL_BITS:
        return _integer_beside_decimal(MIRRORED[op], right, left)
    if not (_is_decimal_literal(right) and type_of(left) in INTEGRAL_BITS):
        return None
    value = right.value if isinstance(right, Literal) else None
    if not isinstance(value, Decimal):
        return None
    if not -(2**63) <= value <= 2**63 - 1:
        return Literal((value > 0) == (op in ("<", "<=")), BOOLEAN)
    rounding = ROUND_FLOOR if op in (">", "<=") else ROUND_CEILING
    return Compare(op, cast_to(left, LONG), Literal(int(value.to_integral_value(rounding, EXACT)), LONG))


def _as_narrow_decimal(node: Node, other: Node) -> Node:
    """An integral literal compared with a decimal, as a decimal of the fewest digits: the column is rarely cast."""
    if isinstance(node, Literal) and isinstance(node.value, int) and isinstance(type_of(other), DecimalType):
        return cast_to(node, literal_decimal(node.value, node.type)) if node.type in INTEGRAL_BITS else node
    return node


def _is_decimal_literal(node: Node) -> bool:
    return isinstance(node, Literal) and isinstance(node.type, DecimalType) and node.value is not None


def _is_atomic(type_: DataType) -> bool:
    return type_ in ATOMIC or isinstance(type_, DecimalType)


def _membership(child: Node, values: Sequence[Node], ansi: bool) -> Node:
    if isinstance(values, LiteralList):
        found = _long_membership(child, values)
        if found is not None:
            return found
        values = tuple(values)
    types = {type_of(child): None} | dict.fromkeys(type_of(value) for value in values)
    known = [type_ for type_ in types if type_ is not None]
    if len(known) < len(types):
        return In(child, values)
    if not _check_comparable(known, "IN", ansi):
        return Opaque(to_sql(In(child, values)), columns_of(In(child, values)))
    if not all(_is_atomic(type_) or type_ == VOID for type_ in known):
        return nested_membership(child, values, known, ansi)
    met = common_type(known, ansi=ansi)
    if met is None:
        names = ", ".join(sql_name(type_) for type_ in known)
        raise TypeMismatch(f"IN does not accept the types {names} together (DATATYPE_MISMATCH): cast the values.")
    if met == STRING:
        comparison_collation(child, *(value for value in values if not isinstance(value, Literal)))
    return In(cast_to(child, met), tuple([_widened(value, met) for value in values]))


def _long_membership(child: Node, values: LiteralList) -> Node | None:
    """IN over a list that stays one array; None if its values must be cast one by one, or have no common type."""
    type_ = type_of(child)
    if type_ == STRING and values.types == (STRING,):
        comparison_collation(child)
        return In(child, values)
    if type_ not in INTEGRAL_BITS or STRING in values.types:
        return None
    # A value beyond the child's type is never equal to it, so that the child need not be cast.
    within = values.within(type_)
    return In(child, within) if len(within) else None


def _widened(value: Node, met: DataType) -> Node:
    """`value` cast to `met`. An integral literal is converted directly, because lists of them are long."""
    if isinstance(value, Literal) and value.value is not None and value.type != met:
        bits, needed = INTEGRAL_BITS.get(met, 0), INTEGRAL_BITS.get(value.type, 64)
        if needed < bits:
            return Literal(value.value, met)
    return cast_to(value, met)


def _cast(node: Cast) -> Node:
    made = made_interval(node.child.name, node.child.args) if isinstance(node.child, Call) else None
    node = node if made is None else replace(node, child=made)
    source = type_of(node.child)
    if source is None:
        return node
    if source == VARIANT:
        # The cast of a JSON null is NULL, though the variant is not.
        name = "try_cast(variant)" if node.safe else "cast(variant)"
        return _call(Call(name, (node.child, Literal(None, node.type))))
    refused = f"{sql_name(source)} cannot be cast to {sql_name(node.type)} in Spark SQL (CAST_WITHOUT_SUGGESTION)."
    if source in INTERVALS and not castable(source, node.type):
        raise PredicateError(refused)
    if node.type == VARIANT and source != VOID:
        return _call(Call("as_variant()", (node.child,)))
    if is_nested(source) or is_nested(node.type):
        return nested_cast(node, source)
    if _is_atomic(source) and not castable(source, node.type):
        raise TypeMismatch(refused)
    if not (_is_atomic(source) or source == VOID or source in INTERVALS):
        return Opaque(to_sql(node), columns_of(node))
    if source != node.type:
        return node
    # A cast to STRING removes the collation.
    return Collate(node.child, "UTF8_BINARY") if source == STRING and is_collated(node.child) else node.child


def _case(branches: tuple[tuple[Node, Node], ...], otherwise: Node | None, ansi: bool) -> Node:
    for condition, _ in branches:
        if (type_ := type_of(condition)) in (STRING, VOID):
            raise TypeMismatch(f"A condition of CASE must be BOOLEAN, not {sql_name(type_)}: compare it with a value.")
    tested = tuple((_as_boolean(condition, "A condition of CASE"), value) for condition, value in branches)
    values = [value for _, value in tested] + ([] if otherwise is None else [otherwise])
    types = [type_ for value in values if (type_ := type_of(value)) is not None]
    met = common_type(types, ansi=ansi) if len(types) == len(values) else None
    if met is None:
        return Case(tested, otherwise)
    cast = tuple((condition, cast_to(value, met)) for condition, value in tested)
    return Case(cast, None if otherwise is None else cast_to(otherwise, met))


def _call(node: Call, ansi: bool = True) -> Node:
    clock = "unix_timestamp()" if node.name == "unix_timestamp" else node.name
    if not node.args and clock in PRESENT:
        return Call(clock, (), PRESENT[clock])
    if len(node.args) == 1 and node.name in READ_BY_CAST and type_of(node.args[0]) is not None:
        return _cast(Cast(*_read(node.name, node.args[0])))
    found_node = sum_with_interval(node) or made_interval(node.name, node.args)
    if found_node is not None:
        return found_node if type_of(found_node) != CALENDAR else Call(node.name, node.args, CALENDAR)
    function = FUNCTIONS.get(node.name)
    if function is None or any(type_of(arg) is None for arg in node.args if not isinstance(arg, Lambda)):
        return Call(node.name, node.args)
    if function.widens and not ansi and not _widens_alike(node.args):
        return Call(node.name, node.args)
    if function.ansi_only and not ansi:
        return Call(node.name, node.args)
    found = function.signature(node.args)
    if found is None:
        _check_arguments(node)
        return Call(node.name, node.args)
    if not ansi and found[0] != node.args and any(map(is_nested, (found[1], *map(type_of, node.args)))):
        # The common type may differ without ANSI mode.
        return Call(node.name, node.args)
    return Call(node.name, found[0], found[1])


def _read(name: str, arg: Node) -> tuple[Node, DataType]:
    """The operand and the target of the cast that replaces `to_date(arg)` and the like: others become strings first.

    # Spark 4.1, ParseToDate and ParseToTimestamp
    """
    target, source = READ_BY_CAST[name], type_of(arg)
    kept = source in (STRING, VOID, *DATETIMES) or (target == TIMESTAMP and is_numeric(source)) or is_nested(source)
    return (arg if kept else _cast(Cast(arg, STRING))), target


def _widens_alike(args: Sequence[Node]) -> bool:
    """Whether arguments have the same common type with and without ANSI mode."""
    types = [type_ for arg in args if (type_ := type_of(arg)) is not None]
    return common_type(types) == common_type(types, ansi=False)


def _check_arguments(node: Call) -> None:
    """Raise for argument types that Spark refuses, for functions without a signature."""
    types = [type_ for arg in node.args if (type_ := type_of(arg)) is not None]
    nested = any(map(is_nested, types)) and not takes_nested(node.name)
    if node.name in ARITHMETIC:
        plain = all(is_numeric(type_) or type_ in (BOOLEAN, BINARY, *DATETIMES) for type_ in types)
        timed = any(map(is_numeric, types)) and any(type_ in DATETIMES for type_ in types)
        added_days = node.name in "+-" and DATE in types
        wrong = plain and (BOOLEAN in types or BINARY in types or (timed and not added_days))
    elif node.name in _OF_NUMBERS:
        wrong = types[0] in (BOOLEAN, BINARY, *DATETIMES)
    else:
        wrong = node.name in DATE_FIELDS and (is_numeric(types[0]) or types[0] in (BOOLEAN, BINARY))
    if nested or wrong:
        names = ", ".join(map(sql_name, types))
        raise TypeMismatch(f"{to_sql(node)} is not valid in Spark SQL for {names} (DATATYPE_MISMATCH): cast them.")


def _as_boolean(node: Node, what: str) -> Node:
    type_ = type_of(node)
    if type_ is None or type_ == BOOLEAN:
        return node
    if type_ in (VOID, STRING) and what != "A predicate":
        return cast_to(node, BOOLEAN)
    raise PredicateError(f"{what} must be BOOLEAN, not {sql_name(type_)}: compare it with a value.")


def _pattern(node: Like | StartsWith, child: Node, pattern: Node) -> Node:
    """LIKE or STARTSWITH, whose operands Spark casts to strings."""
    if isinstance(node, StartsWith) and type_of(child) == type_of(pattern) == BINARY:
        return node
    if isinstance(node, Like) and not isinstance(pattern, Literal) and is_collated(child, pattern):
        # Spark 4.1, Like: the collation is that of the text, also beside a pattern with an explicit one. It refuses
        # texts with other collations than these two.
        own = comparison_collation(child) or BINARY_NAME
        if own.rpartition(".")[2].upper() in (BINARY_NAME, "UTF8_LCASE"):
            pattern = Collate(_as_text(pattern), own)
    operands = (child, pattern)
    comparison_collation(*operands)
    cast = [_as_text(operand) for operand in operands]
    if any(type_ is not None and is_nested(type_) for type_ in map(type_of, cast)):
        names = " and ".join(sql_name(type_of(operand)) for operand in operands)
        raise PredicateError(f"{to_sql(node)} is not valid in Spark SQL for {names} (DATATYPE_MISMATCH): cast them.")
    if any(type_of(operand) not in (None, STRING) for operand in cast):
        return Opaque(to_sql(node), columns_of(node))
    if isinstance(node, Like):
        return Like(cast[0], cast[1], node.escape, node.case_insensitive)
    return StartsWith(cast[0], cast[1])


def _as_text(node: Node) -> Node:
    """`node` cast to string for LIKE and STARTSWITH; unchanged if Spark does not cast it implicitly."""
    if type_of(node) == VARIANT:
        return _cast(Cast(node, STRING))
    cast = implicit_cast(node, STRING)
    return node if cast is None else cast


def _fold(node: Node, time_zone: str) -> Node:
    """`node` with constant subexpressions replaced by their values."""
    if isinstance(node, (Literal, FieldRef, Opaque, Variable)):
        return node
    node = transform(node, lambda child: _fold(child, time_zone))
    if not all(isinstance(child, Literal) or is_closed(child) for child in children_of(node)):
        return node
    type_ = type_of(node)
    if type_ is None:
        return node
    if isinstance(node, Collate):
        # A literal has no collation, and an explicit collation applies to the whole comparison.
        return node
    match node:
        case Cast(Literal(str() as text), target) if target in DATETIMES and (time := special_time(text, target)):
            return time
        case Call(name) if name not in FUNCTIONS:
            return node
    try:
        return Literal(evaluate(node, {}, time_zone), type_)
    except (EvaluationError, PredicateError):
        return node
