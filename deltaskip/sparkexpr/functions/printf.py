"""`format_string` with the specifiers `%s %d %x %o %c %b %f %e %n %%` of Java's Formatter, and their flags.

# Spark 4.1, FormatString in stringExpressions.scala; Java 17, java.util.Formatter
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import shown
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.sparkexpr.coerce import implicit_cast, is_nested, type_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Typed
from deltaskip.sparkexpr.nodes import Call, Cast, Literal, Node
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import vectors
from deltaskip.sparkexpr.values.arrow_values import NOTHING, domain_values, filled
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.floats import float_text
from deltaskip.sparkexpr.values.numerals import context, exactly, integer_of
from deltaskip.sparkexpr.values.strings import check_length

# Whole numbers, and times, which are written as the numbers of Spark's rows.
_BITS: Mapping[t.DataType, int] = {**t.INTEGRAL_BITS, t.DATE: 32, t.TIMESTAMP: 64, t.TIMESTAMP_NTZ: 64}
_WRITTEN = (*_BITS, t.STRING, t.BOOLEAN, t.FLOAT, t.DOUBLE, t.VOID)
_SPECIFIER = regex(r"%(?:(\d+)\$)?([-#+ 0,(<]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")
_FLAGS = {"s": "-", "b": "-", "c": "-", "d": "-+ 0,(", "x": "-#0", "o": "-#0", "f": "-#+ 0,(", "e": "-#+ 0("}
_WIDEST = 1 << 20
_MOST_PLACES = 300
_EXACT = context(2000, ROUND_HALF_UP)


def _signature(args: tuple[Node, ...]) -> Typed:
    """Accept a template and values of some types. Spark writes addresses for bytes, and for nested values of rows."""
    template = implicit_cast(args[0], t.STRING) if args else None
    if template is None or not all(map(_is_written, args[1:])):
        return None
    return (template, *args[1:]), t.STRING


def _is_written(arg: Node) -> bool:
    type_ = type_of(arg)
    return type_ in _WRITTEN or isinstance(type_, t.DecimalType) or (is_nested(type_) and _is_folded(arg))


@deep
def _is_folded(arg: Node) -> bool:
    """Whether a nested value is written with constants, so that Spark's optimizer makes it one constant."""
    match arg:
        case Literal():
            return True
        case Cast(child):
            return _is_folded(child)
        case Call("array" | "map" | "named_struct", args):
            return all(_is_folded(each) for each in args)
    return False


def _types(call: Call) -> list[t.DataType]:
    return [type_of(arg) or t.VOID for arg in call.args[1:]]


def _compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return None if args[0] is None else _formatted(args[0], args[1:], _types(call))


def _column(args: Sequence[vectors.Values], call: Call, zone: Zone) -> vectors.Values:
    template, types = vectors.constant(args[0]), _types(call)
    if template is None:
        return vectors.text_array([None])[0]
    rows = max(len(each) for each in args if not vectors.is_constant(each))
    pieces = [_piece(part, args[1:], types) for part in _template_parts(template)]
    if not any(piece is None for piece in pieces):
        return vectors.as_array(pc.binary_join_element_wise(*pieces, NOTHING), rows)
    lists = [domain_values(vectors.as_array(each, rows)) for each in args[1:]]
    known: dict[tuple[str, ...], str] = {}
    found: list[str] = []
    for values in zip(*lists, strict=True):
        key = tuple(map(repr, values))
        if key not in known:
            known[key] = _formatted(template, values, types)
        found.append(known[key])
    return vectors.text_array(found)


def _piece(
    part: str | _Specifier, args: Sequence[vectors.Values], types: Sequence[t.DataType]
) -> vectors.Values | None:
    """A part of the string of every row; None if values must be written one by one."""
    if isinstance(part, str):
        return vectors.constant_of(part, pa.string())
    if part.argument >= len(args) or part.flags not in ("", "0") or part.precision is not None or part.upper:
        return None
    values, type_ = args[part.argument], types[part.argument]
    plain = part.kind == "s" and (type_ in t.INTEGRAL_BITS or type_ in (t.STRING, t.BOOLEAN)) and not part.width
    if not plain and not (part.kind == "d" and type_ in t.INTEGRAL_BITS):
        return None
    found = pc.cast(values, pa.string())
    if part.flags:
        if pc.any(pc.or_kleene(pc.is_null(values), pc.less(values, vectors.constant_of(0, values.type)))).as_py():
            return None
        return pc.utf8_lpad(found, part.width, "0")
    found = filled(found, "null")
    return pc.utf8_lpad(found, part.width, " ") if part.width else found


@dataclass(frozen=True, slots=True)
class _Specifier:
    """One format specifier: the index of the argument, and its format. kind: The conversion letter in lower case."""

    argument: int
    flags: str
    width: int
    precision: int | None
    kind: str
    upper: bool


def _formatted(template: str, values: Sequence[Any], types: Sequence[t.DataType]) -> str:
    """`format_string(template, values)`.

    Raises EvaluationError if Java refuses the template or a value, and Undecided if only Spark knows the result.
    """
    found: list[str] = []
    for part in _template_parts(template):
        if isinstance(part, str):
            found.append(part)
            continue
        if part.argument >= len(values):
            raise EvaluationError(f"The format {shown(template)} needs more arguments than it has.")
        text = _written(part, values[part.argument], types[part.argument])
        text = text.upper() if part.upper else text
        if part.upper and not text.isascii():
            raise Undecided("Letters beyond ASCII in capitals are left to Spark.")
        # Widths count UTF-16 units.
        missing = part.width - len(text) - sum(character > "\uffff" for character in text)
        found.append(text + " " * missing if "-" in part.flags else " " * missing + text)
    check_length(sum(map(len, found)))
    return "".join(found)


@lru_cache(maxsize=256)
def _template_parts(template: str) -> tuple[str | _Specifier, ...]:
    """Return the literal parts and specifiers of a template. Raises like `formatted`."""
    found: list[str | _Specifier] = []
    at = ordinary = 0
    while at < len(template):
        begin = template.find("%", at)
        if begin < 0:
            break
        found.append(template[at:begin])
        matched = _SPECIFIER.match(template, begin)
        if matched is None or not matched[0].isascii():
            raise Undecided(f"The format {shown(template)} is left to Spark.")
        index, flags, width, precision, letter = matched.groups()
        at = matched.end()
        if letter in "n%":
            if index or flags or width or precision:
                raise Undecided(f"The specifier {matched[0]} is left to Spark.")
            found.append("\n" if letter == "n" else "%")
            continue
        kind = letter.lower()
        if "<" in flags or kind not in _FLAGS or letter in "DOF" or index == "0" or (index or "1").startswith("0"):
            raise Undecided(f"The specifier {matched[0]} is left to Spark.")
        _check(matched[0], kind, flags, width, precision)
        argument = integer_of(index) - 1 if index else ordinary
        ordinary += not index
        places = integer_of(precision) if precision else None
        found.append(_Specifier(argument, flags, integer_of(width or "0"), places, kind, letter != kind))
    return (*found, template[at:])


def _check(text: str, kind: str, flags: str, width: str | None, precision: str | None) -> None:
    """Raise EvaluationError for a specifier that Java refuses."""
    if kind in "xo" and set(flags) - set(_FLAGS[kind]):
        # Java accepts these flags for NULL.
        raise Undecided(f"The specifier {text} is left to Spark.")
    doubled = len(set(flags)) < len(flags) or {"-", "0"} <= set(flags) or {"+", " "} <= set(flags)
    if doubled or set(flags) - set(_FLAGS[kind]) or (set(flags) & {"-", "0"} and not width):
        raise EvaluationError(f"The flags of the specifier {text} cannot be combined.")
    if precision and kind in "cdxo":
        raise EvaluationError(f"The specifier {text} has a precision, which integers do not allow.")
    if integer_of(width or "0") > _WIDEST or integer_of(precision or "0") > _MOST_PLACES:
        raise Undecided(f"The specifier {text} is left to Spark: it is too wide.")


def _written(specifier: _Specifier, value: Any, type_: t.DataType) -> str:
    """A value as text, without padding."""
    kind = specifier.kind
    if kind in "sb":
        text = _shown(value, type_) if kind == "s" else str(value is not None and value is not False).lower()
        if specifier.precision is not None and not text.isascii():
            raise Undecided("Truncating text that is not ASCII is left to Spark.")
        return text if specifier.precision is None else text[: specifier.precision]
    if value is None:
        text = "null"
        return text if specifier.precision is None or kind not in "fe" else text[: specifier.precision]
    if kind in "fe" and type_ in t.FLOATING:
        return _real(specifier, value)
    if kind not in "fe" and type_ in _BITS:
        return _whole(specifier, value, _BITS[type_])
    raise EvaluationError(f"The specifier %{kind} does not accept this type (IllegalFormatConversionException).")


def _shown(value: Any, type_: t.DataType) -> str:
    """The text of a value in Java."""
    if value is None:
        return "null"
    if type_ == t.STRING:
        return str(value)
    if type_ == t.BOOLEAN:
        return str(value).lower()
    if type_ in _BITS:
        return str(value)
    # GenericArrayData.toString, GenericInternalRow.toString and ArrayBasedMapData.toString
    match type_:
        case t.ArrayType(element):
            return f"[{','.join(_shown(each, element) for each in value)}]"
        case t.StructType(fields):
            return f"[{','.join(_shown(each, field.type) for each, field in zip(value, fields, strict=True))}]"
        case t.MapType(key, item):
            keys, items = ",".join(_shown(k, key) for k, _ in value), ",".join(_shown(v, item) for _, v in value)
            return f"keys: [{keys}], values: [{items}]"
    text = float_text(value, type_ == t.FLOAT) if type_ in t.FLOATING else None
    if isinstance(type_, t.DecimalType):
        text = _decimal_text(value)
    if text is None:
        raise Undecided(f"The digits of {value!r} depend on the version of Java.")
    return text


def _decimal_text(value: Decimal) -> str:
    """BigDecimal.toString, which writes an exponent below 10⁻⁶."""
    sign, figures, exponent = value.as_tuple()
    point = len(figures) + int(exponent) - 1
    if point >= -6:
        return f"{value:f}"
    digits = "".join(map(str, figures))
    return f"{'-' if sign else ''}{digits[0]}{'.' + digits[1:] if digits[1:] else ''}E{point:+d}"


def _whole(specifier: _Specifier, value: int, bits: int) -> str:
    """An integer as text."""
    if specifier.kind == "c":
        if not 0 <= value <= 0x10FFFF or bits == 64:
            raise EvaluationError(f"{value} is no character (IllegalFormatCodePointException).")
        if 0xD800 <= value < 0xE000:
            raise Undecided("Half of a surrogate pair is left to Spark.")
        return chr(value)
    if specifier.kind == "d":
        return _signed(specifier, value < 0, _grouped(specifier, str(abs(value))))
    value &= (1 << bits) - 1
    text = f"{value:x}" if specifier.kind == "x" else f"{value:o}"
    prefix = ("0x" if specifier.kind == "x" else "0") if "#" in specifier.flags else ""
    return prefix + (text.rjust(specifier.width - len(prefix), "0") if "0" in specifier.flags else text)


def _real(specifier: _Specifier, value: float) -> str:
    """A floating point number as text, rounded half up from its shortest digits."""
    if "#" in specifier.flags:
        raise Undecided("The flag # of numbers with places is left to Spark.")
    negative = math.copysign(1, value) < 0
    if not math.isfinite(value):
        if math.isnan(value):
            return "NaN"
        return "(Infinity)" if negative and "(" in specifier.flags else _sign(specifier, negative) + "Infinity"
    places = 6 if specifier.precision is None else specifier.precision
    if value != 0 and float_text(value, False) is None and not (value.is_integer() and abs(value) < 2**53):
        raise Undecided(f"The digits of {value!r} depend on the version of Java.")
    exact = exactly(repr(value)).copy_abs()
    if specifier.kind == "f":
        text = f"{exact.quantize(Decimal((0, (1,), -places)), context=_EXACT):f}"
        return _signed(specifier, negative, _grouped(specifier, text))
    if exact == 0:
        digits, power = "0" * (places + 1), 0
    else:
        power = exact.adjusted()
        scaled = exact.scaleb(-power, _EXACT).quantize(Decimal((0, (1,), -places)), context=_EXACT)
        if scaled >= 10:
            power += 1
            scaled = scaled.scaleb(-1, _EXACT).quantize(Decimal((0, (1,), -places)), context=_EXACT)
        digits = f"{scaled:f}".replace(".", "")
    fraction = f".{digits[1:]}" if places else ""
    return _signed(specifier, negative, f"{digits[0]}{fraction}e{power:+03d}")


def _grouped(specifier: _Specifier, text: str) -> str:
    """Digits with a comma before every group of three, if the specifier has this flag."""
    if "," not in specifier.flags:
        return text
    whole, point, part = text.partition(".")
    return f"{int(whole):,}{point}{part}"


def _sign(specifier: _Specifier, negative: bool) -> str:
    if negative:
        return "-"
    return "+" if "+" in specifier.flags else " " if " " in specifier.flags else ""


def _signed(specifier: _Specifier, negative: bool, text: str) -> str:
    """Digits with their sign, and zeros between sign and digits up to the width."""
    begin, end = ("(", ")") if negative and "(" in specifier.flags else (_sign(specifier, negative), "")
    zeros = specifier.width - len(begin) - len(text) - len(end) if "0" in specifier.flags else 0
    return begin + "0" * zeros + text + end


PRINTF: Mapping[str, FunctionRow] = {
    "format_string": Function(_signature, _compute, False, by_column=_column, aliases=("printf",), decisive=(0,))
}
