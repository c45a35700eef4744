"""Store assignment on Arrow arrays, with the results of Spark's ANSI casts.

Arrays that already have the column's type are not copied. pyarrow makes the casts for which its result is Spark's; all
others, and those that fail, are made value by value with `cast_value`, once for each distinct value.

Of the values that an assignment changes without an error, as in Spark, the first one of each column is reported. They
are fractions that are cut or rounded, whole numbers that a floating type cannot represent, numbers that become
infinite, NaN and the infinities in a decimal, times of day that a date drops, and the empty string in a partition
column. Other casts are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import RowViolation, SchemaError, UnsupportedFeature, WriteWarning
from deltaskip.records import dataclass
from deltaskip.rows.arrow_layout import floor_divided, scalar_text, stored_type
from deltaskip.rows.rules import value_violation
from deltaskip.rows.store import matched_fields
from deltaskip.sparkexpr import EvaluationError, Undecided, needs_session
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.ddl import type_text
from deltaskip.sparkexpr.values import cast_value, first_not_wkb, java_text
from deltaskip.sparkexpr.values.arrow_nested import list_items, list_offsets, map_lists
from deltaskip.sparkexpr.values.arrow_values import arrow_array, domain_values, filled, one_chunk, typed_array
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, Zone, instant_of
from deltaskip.warning import warn

WRITE_FROM_SPARK = "Write the rows as a DataFrame of a Spark session."
"""The advice for new rows with a value or rule that only Spark can evaluate."""

_PATH = tuple[str, ...]
_MAX_PRECISION = 38
_SHOWN_BYTES = 9
# Doubles up to this are integers of 64 bits, whatever the rounding.
_EXACT_IN_DOUBLE = 2**53 - 1


@dataclass(frozen=True, slots=True)
class ArrowTarget:
    """The table and the session's time zone, for casts between instants and local times.

    Attributes:
        losses: Receives values that a cast changed, one per column; None to look for none.
    """

    table: str
    zone: Zone
    losses: list[LossyCast] | None = None

    @property
    def is_utc(self) -> bool:
        """Whether local times equal the instants."""
        return self.zone.rules is None and not self.zone.offset


def store_array(array: pa.Array, target: t.DataType, path: _PATH, where: ArrowTarget) -> pa.Array:
    """Return the values as they are stored in the column at `path`; `check_assignable` has accepted their type.

    The values are in the layout of their type, see `plain_array`. The result is of stored_type(target).

    Raises:
        RowViolation: A value does not fit the column.
        UnsupportedFeature: This package does not know Spark's result; write the rows through a Spark session.
    """
    wanted = stored_type(target)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), wanted)
    if target == t.VARIANT:
        return _variant(array, path, where)
    # Variants are checked, and the members that files require below a null are added. WKB is checked.
    if array.type == wanted and not any(
        each == t.VARIANT or isinstance(each, t.GEOSPATIAL) for each in t.nested_types(target)
    ):
        return array
    match target:
        case t.GeometryType() | t.GeographyType():
            return _wkb(array, target, path, where)
        case t.StructType():
            return _struct(array, target, path, where)
        case t.ArrayType(element):
            values = store_array(list_items(array), element, (*path, "element"), where)
            return _rebuilt_list(array, values, wanted)
        case t.MapType():
            return _map(array, target, path, where)
        case _:
            return _atoms(array, target, path, where)


def check_maps(array: pa.Array, data_type: t.DataType, path: _PATH, table: str) -> None:
    """Check that no map, at any depth, has a key twice or NULL as a key, which Spark refuses and readers do not expect.

    Raises RowViolation.
    """
    match data_type:
        case t.StructType(fields):
            for field, child in zip(fields, array.flatten(), strict=True):
                check_maps(child, field.type, (*path, field.name), table)
        case t.ArrayType(element) if any(isinstance(each, t.MapType) for each in t.nested_types(element)):
            check_maps(list_items(array), element, (*path, "element"), table)
        case t.MapType(key, value):
            lists = map_lists(array)
            items = list_items(lists)
            _check_keys(items.field("key"), pc.list_parent_indices(lists), key, (*path, "key"), table)
            check_maps(items.field("value"), value, (*path, "value"), table)
        case _:
            pass


def _check_keys(keys: pa.Array, rows: pa.Array, key: t.DataType, path: _PATH, table: str) -> None:
    if keys.null_count:
        raise value_violation(t.display_name(path), type_text(key).upper(), "NULL", table)
    if pa.types.is_nested(keys.type):
        keys = arrow_array([repr(each) for each in keys.to_pylist()], pa.string())
    encoded = one_chunk(keys).dictionary_encode()
    row, code = np.asarray(rows), np.asarray(encoded.indices)
    if ((code[1:] > code[:-1]) | (row[1:] != row[:-1])).all():
        # Maps that name their keys in one order, as most do, have them in the order of the dictionary.
        return
    codes = row.astype(np.int64) * len(encoded.dictionary) + code
    order = np.argsort(codes, kind="stable")
    twice = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    if len(twice):
        shown = scalar_text(keys[int(order[twice[0]])])
        name = t.display_name(path[:-1])
        raise RowViolation(
            f"A row for {table} has the key {shown} twice in the map {name}. Nothing was written.",
            f"keys of {name}",
            "map keys are unique",
            None,
            name,
            shown,
        )


def _variant(array: pa.Array, path: _PATH, where: ArrowTarget) -> pa.Array:
    """A variant's two members, in the order of files.

    Raises RowViolation for a value that no reader can decode, as far as its first bytes show.
    """
    members = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    # Members are not null in the type, so below a null they are empty.
    stored = [filled(members[f.name], b"") for f in t.VARIANT_STORAGE]
    found = dict(zip((f.name for f in t.VARIANT_STORAGE), stored, strict=True))
    _check_variants(found["metadata"], found["value"], array, path, where)
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(stored, fields=list(t.VARIANT_STORAGE), mask=mask)


def _check_variants(metadata: pa.Array, value: pa.Array, array: pa.Array, path: _PATH, where: ArrowTarget) -> None:
    """Check that each value has a byte, and its metadata a header of version 1 and a dictionary."""
    headers = metadata.dictionary_encode()
    good = [len(each) > 2 and each[0] & 0x0F == 1 for each in headers.dictionary.to_pylist()]
    known = arrow_array(good, pa.bool_()).take(headers.indices)
    broken = pc.and_(array.is_valid(), pc.invert(pc.and_(known, pc.greater(pc.binary_length(value), 0))))
    first = pc.index(broken, True).as_py()
    if first >= 0:
        shown = f"with the metadata X'{metadata[first].as_py().hex()}' and value X'{value[first].as_py().hex()}'"
        raise value_violation(t.display_name(path), type_text(t.VARIANT).upper(), shown, where.table)


def _wkb(array: pa.Array, target: t.DataType, path: _PATH, where: ArrowTarget) -> pa.Array:
    """The shapes. Raises RowViolation for bytes that are not WKB, as far as the first ones show."""
    broken = first_not_wkb(array)
    if broken is not None:
        shown = f"X'{array[broken].as_py()[:_SHOWN_BYTES].hex()}…' (WKB without flags and SRID, ISO, is needed)"
        raise value_violation(t.display_name(path), type_text(target).upper(), shown, where.table)
    return array


def _struct(array: pa.StructArray, target: t.StructType, path: _PATH, where: ArrowTarget) -> pa.Array:
    source = t.from_arrow_type(array.type)
    if not isinstance(source, t.StructType):
        raise SchemaError(f"The values of {t.display_name(path)} are not structs.")
    # Flattened children are null where the struct is, so that nothing below a null is cast.
    children = dict(zip(source.names, array.flatten(), strict=True))
    stored = []
    for field, given in matched_fields(source, target, path, where.table).pairs:
        if given is None:
            stored.append(pa.nulls(len(array), stored_type(field.type)))
        else:
            stored.append(store_array(children[given.name], field.type, (*path, field.name), where))
    fields = [pa.field(f.name, child.type) for f, child in zip(target.fields, stored, strict=True)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(stored, fields=fields, mask=mask)


def _map(array: pa.MapArray, target: t.MapType, path: _PATH, where: ArrowTarget) -> pa.Array:
    lists = map_lists(array)
    items = list_items(lists)
    key = store_array(items.field("key"), target.key, (*path, "key"), where)
    value = store_array(items.field("value"), target.value, (*path, "value"), where)
    offsets = list_offsets(lists)
    mask = lists.is_null() if lists.null_count else None
    maps = pa.MapArray.from_arrays(offsets, key, value, pa.map_(key.type, value.type), mask=mask)
    wanted = pa.map_(pa.field("key", key.type, False), pa.field("value", value.type))
    return maps.cast(wanted) if maps.type != wanted else maps


def _rebuilt_list(lists: pa.Array, values: pa.Array, wanted: pa.DataType) -> pa.Array:
    mask = lists.is_null() if lists.null_count else None
    kind = pa.list_(pa.field(wanted.value_field.name, values.type))
    return pa.ListArray.from_arrays(list_offsets(lists), values, type=kind, mask=mask)


def _atoms(array: pa.Array, target: t.DataType, path: _PATH, where: ArrowTarget) -> pa.Array:
    source = t.from_arrow_type(array.type)
    if source == target:
        return array
    if target in t.NANOSECONDS and pa.types.is_timestamp(array.type):
        try:
            return array.cast(stored_type(target))
        except pa.ArrowInvalid as error:
            name = t.display_name(path)
            raise value_violation(
                name, type_text(target).upper(), "a time before 1677 or after 2262", where.table
            ) from error
    if target in t.COLUMN_INTERVALS and array.type in (pa.int32(), pa.int64()):
        # RFC Interval Types: files have plain integers.
        return array.cast(pa.int64()).view(stored_type(target)) if target == t.DAY_TIME else array.cast(pa.int32())
    kinds = (_kind(source), _kind(target))
    exact = _exact(array, source, target) if kinds in _LOSSY else None
    if exact is not None:
        return exact
    fast = _FAST.get(kinds)
    if fast is not None:
        try:
            found = fast(array, source, target, where)
        except pa.ArrowInvalid:
            # Some value does not fit; it is found below.
            found = None
        if found is not None:
            _look_for_loss(array, found, source, target, path, where)
            return found
    return _by_value(array, source, target, path, where)


def _by_value(array: pa.Array, source: t.DataType, target: t.DataType, path: _PATH, where: ArrowTarget) -> pa.Array:
    encoded = array.dictionary_encode()
    values = [_cast(value, source, target, path, where) for value in domain_values(encoded.dictionary)]
    stored = typed_array(values, stored_type(target))
    _look_for_loss(encoded.dictionary, stored, source, target, path, where)
    return stored.take(encoded.indices)


def _exact(array: pa.Array, source: t.DataType, target: t.DataType) -> pa.Array | None:
    """The values, if none of them loses digits of its fraction."""
    if isinstance(target, t.DecimalType) and isinstance(source, t.DecimalType) and target.scale >= source.scale:
        # pyarrow wraps around without an error if the target has more digits.
        return None
    wanted = stored_type(target)
    try:
        # pyarrow makes an error for each value that does not fit, so a few are tried first.
        array.slice(0, 64).cast(wanted)
        found = array.cast(wanted)
    except pa.ArrowInvalid:
        return None
    if source in t.FLOATING:
        # Beyond these limits, the result of the conversion depends on the processor.
        limit = min(_EXACT_IN_DOUBLE, (1 << (t.INTEGRAL_BITS[target] - 1)) - 1)
        least, most = pc.min_max(found).as_py().values()
        return found if least is None or -limit < least <= most < limit else None
    return found


def _look_for_loss(
    array: pa.Array, stored: pa.Array, source: t.DataType, target: t.DataType, path: _PATH, where: ArrowTarget
) -> None:
    """Record the first value that changes when it is stored."""
    lost = None if where.losses is None else first_loss(array, stored, source, target, where.zone)
    if lost is not None and where.losses is not None:
        given, kept = (domain_values(each.slice(lost, 1))[0] for each in (array, stored))
        texts = _text(given, source, where.zone), _text(kept, target, where.zone)
        where.losses.append(LossyCast(t.display_name(path), type_text(target).upper(), *texts))


def _cast(value: object, source: t.DataType, target: t.DataType, path: _PATH, where: ArrowTarget) -> object:
    try:
        return cast_value(value, source, target, where.zone)
    except Undecided as error:
        if isinstance(value, bytes) and target == t.STRING:
            raise _not_text(value, path, where.table) from error
        what = f"A value of the column {t.display_name(path)}"
        raise needs_session(what, where.table, error, WRITE_FROM_SPARK) from error
    except EvaluationError as error:
        shown = _text(value, source, where.zone)
        raise value_violation(t.display_name(path), type_text(target).upper(), shown, where.table) from error


def _not_text(value: bytes, path: _PATH, table: str) -> UnsupportedFeature:
    """The error for bytes that are not UTF-8, which Spark stores unchanged."""
    shown = f"X'{value[:20].hex().upper()}{'…' if len(value) > 20 else ''}'"
    return UnsupportedFeature(
        f"The column {t.display_name(path)} of {table} is STRING, and the value {shown} is binary that is not UTF-8: "
        f"decode the bytes in their own encoding, such as latin-1, or write them to a column of type BINARY. To store "
        f"them as they are, write the rows as a DataFrame of a Spark session. Nothing was written.",
        needs_session=True,
    )


def _text(value: object, source: t.DataType, zone: Zone) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return java_text(value, source == t.FLOAT)
    try:
        return str(cast_value(value, source, t.STRING, zone))
    except EvaluationError:
        return str(value)


# Casts that pyarrow and numpy make as Spark does. None, or ArrowInvalid, leaves the values to `_by_value`.
_Cast = Callable[[pa.Array, t.DataType, t.DataType, ArrowTarget], "pa.Array | None"]


def _kind(data_type: t.DataType) -> str:
    if data_type in t.INTEGRAL_BITS:
        return "integer"
    return "decimal" if isinstance(data_type, t.DecimalType) else getattr(data_type, "name", "")


def _checked(array: pa.Array, source: t.DataType, target: t.DataType, where: ArrowTarget) -> pa.Array:
    return array.cast(stored_type(target))


def _rounded(array: pa.Array, source: t.DataType, target: t.DataType, where: ArrowTarget) -> pa.Array:
    """To a floating type: the nearest value, infinite beyond the range of a float."""
    return array.cast(stored_type(target), safe=False)


def _whole(array: pa.Array, source: t.DataType, target: t.DataType, where: ArrowTarget) -> pa.Array | None:
    bits = t.INTEGRAL_BITS[target]
    limit = _EXACT_IN_DOUBLE if target == t.LONG else (1 << (bits - 1)) - 1
    inside = pc.all(pc.less_equal(pc.abs(array.cast(pa.float64())), float(limit)), min_count=0)
    return pc.trunc(array).cast(stored_type(target), safe=False) if inside.as_py() else None


def _integer_to_decimal(array: pa.Array, source: t.DataType, target: t.DataType, where: ArrowTarget) -> pa.Array | None:
    if not isinstance(target, t.DecimalType) or target.scale + 19 > _MAX_PRECISION:
        return None
    return array.cast(pa.int64()).cast(pa.decimal128(target.scale + 19, target.scale)).cast(stored_type(target))


def _decimal_to_decimal(array: pa.Array, source: t.DataType, target: t.DataType, where: ArrowTarget) -> pa.Array | None:
    if not isinstance(target, t.DecimalType):
        return None
    given = array.type
    if target.scale < given.scale or given.precision + target.scale - given.scale > _MAX_PRECISION:
        # With room for every digit: at 128 bits pyarrow wraps around, or makes 0, without an error.
        array = array.cast(pa.decimal256(2 * _MAX_PRECISION, max(given.scale, target.scale)))
    if target.scale < given.scale:
        array = pc.round(array, ndigits=target.scale, round_mode="half_towards_infinity")
    return array.cast(stored_type(target))


def _date_to_timestamp(array: pa.Array, source: t.DataType, target: t.DataType, where: ArrowTarget) -> pa.Array | None:
    if target == t.TIMESTAMP and not where.is_utc:
        return None
    return array.cast(pa.timestamp("us")).view(stored_type(target))


def _between_timestamps(array: pa.Array, source: t.DataType, target: t.DataType, where: ArrowTarget) -> pa.Array | None:
    return array.view(stored_type(target)) if where.is_utc else None


def _to_date(array: pa.Array, source: t.DataType, target: t.DataType, where: ArrowTarget) -> pa.Array | None:
    if source == t.TIMESTAMP and not where.is_utc:
        return None
    return floor_divided(array.view(pa.int64()), MICROS_PER_DAY, pa.int32()).view(pa.date32())


# Casts that cut or round fractions; if none is lost, pyarrow makes them.
_LOSSY = ((t.FLOAT.name, "integer"), (t.DOUBLE.name, "integer"), ("decimal", "integer"), ("decimal", "decimal"))
_INSTANTS = (t.TIMESTAMP.name, t.TIMESTAMP_NTZ.name)
_FAST: Mapping[tuple[str, str], _Cast] = {
    ("integer", "integer"): _checked,
    ("integer", t.STRING.name): _checked,
    (t.BOOLEAN.name, t.STRING.name): _checked,
    (t.FLOAT.name, t.DOUBLE.name): _checked,
    ("integer", t.FLOAT.name): _rounded,
    ("integer", t.DOUBLE.name): _rounded,
    (t.DOUBLE.name, t.FLOAT.name): _rounded,
    (t.FLOAT.name, "integer"): _whole,
    (t.DOUBLE.name, "integer"): _whole,
    ("integer", "decimal"): _integer_to_decimal,
    ("decimal", "decimal"): _decimal_to_decimal,
    **{(t.DATE.name, name): _date_to_timestamp for name in _INSTANTS},
    **{(name, t.DATE.name): _to_date for name in _INSTANTS},
    (t.TIMESTAMP.name, t.TIMESTAMP_NTZ.name): _between_timestamps,
    (t.TIMESTAMP_NTZ.name, t.TIMESTAMP.name): _between_timestamps,
}


_FIRST_ROWS = 1024
_MOST_DIGITS = 38
# The relative difference between a binary fraction and the decimal that it stands for.
_NOISE = {t.FLOAT: 1e-6, t.DOUBLE: 1e-9}
# The number of bits up to which a floating type represents every whole number.
_WHOLE_BITS = {t.FLOAT: 24, t.DOUBLE: 53}


@dataclass(frozen=True, slots=True)
class LossyCast:
    """A value that is stored as another one.

    Attributes:
        column: The column, such as `st.x`.
        type_name: Its type as DDL text.
        given: The value as text.
        stored: The stored value as text.
        cure: What to do, a sentence.
    """

    column: str
    type_name: str
    given: str
    stored: str
    cure: str = "Round or cast the values before, or give the column a type that holds them."


def first_loss(array: pa.Array, stored: pa.Array, source: t.DataType, target: t.DataType, zone: Zone) -> int | None:
    """Return the index of the first value that changes when it is stored; None if none does.

    Args:
        array: The values.
        stored: The same values, converted.
        source: Their type.
        target: The type to which they are converted.
        zone: The session's time zone.
    """
    start, rows = 0, _FIRST_ROWS
    while start < len(array):
        # If fractions are lost, one of the first values usually has one.
        lost = _lost(array.slice(start, rows), stored.slice(start, rows), source, target, zone)
        if lost is None:
            return None
        if pc.any(lost).as_py():
            return start + int(pc.index(lost, True).as_py())
        start, rows = start + rows, 8 * rows
    return None


def warn_of_losses(losses: Sequence[LossyCast], table: str) -> None:
    """Issue the warning for the columns of a write, which has at least one."""
    told = {each.column: each for each in losses}
    first, more = losses[0], list(told)[1:]
    also = f" Values of {', '.join(more)} are changed, too." if more else ""
    warn(
        f"The value {first.given} is stored as {first.stored} in the column {first.column} of {table}, which is "
        f"{first.type_name}, as Spark stores it.{also} {first.cure}",
        WriteWarning,
    )


def empty_partition(column: str) -> LossyCast:
    """Return the LossyCast for an empty string that is stored as NULL in a partition column of type STRING."""
    cure = "Look for it with IS NULL, or write another string in its place."
    return LossyCast(column, "a partition column of type STRING", "''", "NULL", cure)


def _lost(array: pa.Array, stored: pa.Array, source: t.DataType, target: t.DataType, zone: Zone) -> pa.Array | None:
    """Which values the cast changes; None if it keeps all of them."""
    if isinstance(source, t.DecimalType) and (scale := _scale(target)) is not None and source.scale > scale:
        # pyarrow refuses to round a decimal without a digit before the point.
        roomy = array.cast(pa.decimal256(2 * _MOST_DIGITS, source.scale))
        return pc.not_equal(roomy, pc.round(roomy, ndigits=scale, round_mode="towards_zero"))
    if source in _NOISE and target in t.INTEGRAL_BITS:
        return pc.not_equal(array, pc.trunc(array))
    if source in _NOISE and isinstance(target, t.DecimalType):
        values = array.cast(pa.float64())
        off = pc.abs(pc.subtract(stored.cast(pa.float64()), values))
        # NaN and the infinities are stored as NULL.
        return pc.or_kleene(
            pc.invert(pc.is_finite(values)), pc.greater(off, pc.multiply(pc.abs(values), _NOISE[source]))
        )
    if source == t.DOUBLE and target == t.FLOAT:
        infinite = pc.is_inf(stored)
        return pc.and_(infinite, pc.is_finite(array)) if pc.any(infinite).as_py() else infinite
    if target in _WHOLE_BITS and (
        isinstance(source, t.DecimalType) or t.INTEGRAL_BITS.get(source, 0) > _WHOLE_BITS[target]
    ):
        return _inexact(array, stored, 1 << _WHOLE_BITS[target], source)
    if target == t.DATE and source in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        return pc.not_equal(array.view(pa.int64()), _midnights(stored, source, zone))
    return None


def _inexact(array: pa.Array, stored: pa.Array, limit: int, source: t.DataType) -> pa.Array:
    """Which whole numbers floating values do not represent exactly. Numbers up to the limit are exact."""
    least, most = pc.min_max(array).as_py().values()
    if least is None or -limit <= least <= most <= limit:
        return pa.array([], pa.bool_())
    # The greatest integers of 64 bits are rounded to 2**63, which is none of them.
    exact = pa.decimal256(2 * _MOST_DIGITS, source.scale if isinstance(source, t.DecimalType) else 0)
    given, kept = array.cast(exact), stored.cast(pa.float64()).cast(exact)
    return pc.and_(pc.equal(given, pc.trunc(given)), pc.not_equal(given, kept))


def _midnights(dates: pa.Array, source: t.DataType, zone: Zone) -> pa.Array:
    """The microseconds at which days begin, in the zone or as a local time."""
    if source == t.TIMESTAMP_NTZ or (zone.rules is None and not zone.offset):
        return dates.cast(pa.timestamp("us"), safe=False).view(pa.int64())
    encoded = dates.view(pa.int32()).dictionary_encode()
    begins = [instant_of(day * MICROS_PER_DAY, zone) for day in encoded.dictionary.to_pylist()]
    return arrow_array(begins, pa.int64()).take(encoded.indices)


def _scale(data_type: t.DataType) -> int | None:
    return data_type.scale if isinstance(data_type, t.DecimalType) else 0 if data_type in t.INTEGRAL_BITS else None
