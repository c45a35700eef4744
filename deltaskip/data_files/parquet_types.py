"""The types that Spark reads from a Parquet file, and whether a file can be read as a table's columns.

# Spark 4.1, ParquetToSparkSchemaConverter and ParquetVectorUpdaterFactory; Apache Parquet, LogicalTypes
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from deltaskip.errors import SchemaError
from deltaskip.records import dataclass
from deltaskip.schema.mapping import field_id
from deltaskip.schema.type_widening import is_widening
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.ddl import type_text
from deltaskip.stats import footer_columns as f
from deltaskip.stats.footer import Footer
from deltaskip.stats.footer_columns import ParquetNode, parquet_root

_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_INT96 = 3
_INTEGERS = (t.BYTE, t.SHORT, t.INTEGER)
_OF_VARIANT = {"metadata", "value", "typed_value"}
# Fields of SchemaElement.
_NAME, _ID = 4, 9
_BYTES = 6
_SIGNED: dict[int, t.DataType] = {8: t.BYTE, 16: t.SHORT, 32: t.INTEGER, 64: t.LONG}
# The narrowest type that contains all values.
_UNSIGNED: dict[int, t.DataType] = {8: t.SHORT, 16: t.INTEGER, 32: t.LONG, 64: t.DecimalType(20, 0)}


def file_schema(footer: Footer) -> t.StructType:
    """Return the schema of a file's rows as Spark infers it, with types of nanoseconds; all top levels are nullable.

    The schema that Spark has written into the footer is used if the file can be read with it.

    Raises SchemaError for a column whose type Spark does not read.
    """
    root = parquet_root(footer.elements)
    text = footer.key_values.get(_SPARK_SCHEMA)
    if text is not None:
        try:
            found = t.parse_schema(text.decode())
        except (SchemaError, UnicodeDecodeError, ValueError):
            found = None
        if found is not None and FileColumns(found, exact=True).misfit(root) is None:
            return found
    return t.StructType(tuple(t.StructField(each.name, _type_of(each, (each.name,))) for each in root.children))


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The columns that the data files of a table may have.

    Attributes:
        schema: The table's schema.
        partition_columns: The partition columns, which files may contain; readers take the log's values.
        mode: The column mapping mode.
        widening: Whether readers accept the narrower types of type widening.
        int96: Whether timestamps may be INT96.
        needs_ids: Whether every column needs its Parquet field id.
        needs_partitions: Whether files must contain the partition columns.
        exact: Whether the file must have exactly these columns.
    """

    schema: t.StructType
    partition_columns: tuple[str, ...] = ()
    mode: t.MappingMode = "none"
    widening: bool = False
    int96: bool = True
    needs_ids: bool = False
    needs_partitions: bool = False
    exact: bool = False

    def misfit(self, root: ParquetNode) -> str | None:
        """Return why a file with these columns cannot be read as rows of the table; None if it can."""
        partitions = frozenset() if self.needs_partitions else frozenset(map(t.fold_name, self.partition_columns))
        aside = {
            t.fold_name(n) for f in self.schema.fields if t.fold_name(f.name) in partitions for n in self._names(f)
        }
        fields = [field for field in self.schema.fields if t.fold_name(field.name) not in partitions]
        children = [child for child in root.children if t.fold_name(child.name) not in aside]
        if self.mode == "id" and children and not any(_ID in child.element for child in children):
            return "it has no Parquet field ids, by which the table maps its columns (column mapping mode id)"
        if self.needs_partitions:
            for field in fields:
                if field.name in self.partition_columns and self.node_of(root, field) is None:
                    return (
                        f"it lacks the partition column {t.display_name([field.name])}, which files of this table must "
                        f"contain (materializePartitionColumns or IcebergCompat)"
                    )
        return self._struct(children, fields, ())

    def node_of(self, root: ParquetNode, field: t.StructField) -> ParquetNode | None:
        """Return the node of a top-level column; None if the file lacks it."""
        return next((child for child in root.children if self._is(child, field)), None)

    def _names(self, field: t.StructField) -> tuple[str, str]:
        return field.name, t.physical_name(field, self.mode)

    def _struct(
        self, children: Sequence[ParquetNode], fields: Sequence[t.StructField], path: tuple[str, ...]
    ) -> str | None:
        left = {id(child): child for child in children}
        for field in fields:
            inner = (*path, field.name)
            found = [child for child in children if self._is(child, field)]
            if len(found) > 1:
                return f"it has the column {t.display_name(inner)} {len(found)} times"
            if not found:
                missing = self._missing(field, children, inner)
                if missing is not None:
                    return missing
                continue
            del left[id(found[0])]
            why = self._field(found[0], field, inner)
            if why is not None:
                return why
        for child in left.values():
            what = "column" if not path else "field"
            names = ", ".join(t.display_name([self._names(f)[1]]) for f in fields) or "none"
            return f"it has the {what} {t.display_name((*path, child.name))}, which the table lacks; it has {names}"
        return None

    def _is(self, child: ParquetNode, field: t.StructField) -> bool:
        number = field_id(field) if self.mode == "id" else None
        return child.name == t.physical_name(field, self.mode) if number is None else child.element.get(_ID) == number

    def _missing(self, field: t.StructField, children: Sequence[ParquetNode], path: tuple[str, ...]) -> str | None:
        name = t.physical_name(field, self.mode)
        other = next((child.name for child in children if t.fold_name(child.name) == t.fold_name(name)), None)
        if other is not None and self.mode != "id":
            return (
                f"it has the column {t.display_name((*path[:-1], other))} for {t.display_name((*path[:-1], name))}, "
                f"and readers that compare letter case would find no values"
            )
        if self.exact and field.type != t.VOID:
            return f"it lacks {t.display_name(path)}"
        if not field.nullable and len(path) == 1:
            return f"it lacks the column {t.display_name(path)}, which is NOT NULL"
        return None

    def _field(self, node: ParquetNode, field: t.StructField, path: tuple[str, ...]) -> str | None:
        if field.type == t.VOID:
            return f"it has the column {t.display_name(path)}, which is void: files must not contain it"
        number = field_id(field) if self.mode != "none" else None
        if number is not None and node.element.get(_ID, number if not self.needs_ids else None) != number:
            return f"its column {t.display_name(path)} does not have the Parquet field id {number}"
        return self._type(node, field.type, path)

    def _type(self, node: ParquetNode, wanted: t.DataType, path: tuple[str, ...], single: bool = False) -> str | None:
        """single: the node is the repeated field of a list, and each of its values one element."""
        name = t.display_name(path)
        if node.is_repeated and not single and not isinstance(wanted, t.ArrayType):
            return f"its column {name} is repeated, and {_shown(wanted)} in the table"
        match wanted:
            case t.StructType(fields):
                if node.is_leaf or _kind(node) not in ("struct", "variant"):
                    return self._other(node, wanted, path)
                return self._struct(node.children, fields, path)
            case t.ArrayType(element):
                inner = (*path, "element")
                if node.is_repeated and not single:
                    return self._type(node, element, inner, True)
                found = None if node.is_leaf or _kind(node) != "list" else _element(node)
                if found is None:
                    return self._other(node, wanted, path)
                return self._type(found[0], element, inner, found[1])
            case t.MapType(key, value):
                entry = None if node.is_leaf or _kind(node) != "map" else _entry(node)
                if entry is None:
                    return self._other(node, wanted, path)
                return self._type(entry[0], key, (*path, "key")) or self._type(entry[1], value, (*path, "value"))
            case _ if wanted == t.VARIANT:
                names = {child.name for child in node.children}
                fits = len(names) == len(node.children) > 1 and {"metadata"} < names <= _OF_VARIANT
                return None if fits else self._other(node, wanted, path)
            case _:
                return self._leaf(node, wanted, path)

    def _leaf(self, node: ParquetNode, wanted: t.DataType, path: tuple[str, ...]) -> str | None:
        if not node.is_leaf:
            return self._other(node, wanted, path)
        if node.physical_type == _INT96 and wanted == t.TIMESTAMP and not self.int96:
            return f"its column {t.display_name(path)} has timestamps of INT96, which its IcebergCompat version forbids"
        try:
            found = _leaf_type(node, path)
        except SchemaError as error:
            return f"its column cannot be read: {str(error).rstrip('.')}"
        if isinstance(wanted, t.GEOSPATIAL) and (found == t.BINARY or _same_shapes(found, wanted)):
            # Spark 4.1 wrote WKB without a logical type.
            return None
        if found == wanted or (found, wanted) in ((t.INTEGER, t.YEAR_MONTH), (t.LONG, t.DAY_TIME)):
            return None
        if found in _INTEGERS and wanted in _INTEGERS and _INTEGERS.index(found) < _INTEGERS.index(wanted):
            # Both are the same 32 bits in the file, which every reader accepts.
            return None
        if is_widening(found, wanted) and not self.exact:
            if self.widening:
                return None
            return (
                f"{self._other(node, wanted, path)}; set delta.enableTypeWidening to true so that readers accept the "
                f"narrower type"
            )
        return self._other(node, wanted, path)

    def _other(self, node: ParquetNode, wanted: t.DataType, path: tuple[str, ...]) -> str:
        try:
            found = _shown(_type_of(node, path))
        except SchemaError as error:
            return f"its column cannot be read: {str(error).rstrip('.')}"
        return f"its column {t.display_name(path)} is {found}, and {_shown(wanted)} in the table"


def _same_shapes(found: t.DataType, wanted: t.DataType) -> bool:
    match found, wanted:
        case t.GeometryType(crs), t.GeometryType(other):
            return t.same_crs(crs, other)
        case t.GeographyType(crs, algorithm), t.GeographyType(other, edges):
            return algorithm == edges and t.same_crs(crs, other)
    return False


def is_shredded(footer: Footer, schema: t.StructType) -> bool:
    """Whether a file has parts of variants in typed columns. schema: The table's schema."""
    variants = any(each == t.VARIANT for field in schema.fields for each in t.nested_types(field.type))
    return variants and any(element.get(_NAME) == b"typed_value" for element in footer.elements)


def _shown(data_type: t.DataType) -> str:
    # Names of fields keep their letter case.
    text = type_text(data_type)
    return text if isinstance(data_type, t.StructType | t.ArrayType | t.MapType) else text.upper()


def _logical(node: ParquetNode) -> dict[int, Any]:
    found = node.logical
    # Every value is NULL, as in columns of pyarrow's type null, and the type is that of the bytes.
    return {} if f.UNKNOWN in found else found


def _type_of(node: ParquetNode, path: tuple[str, ...], single: bool = False) -> t.DataType:
    """The type that Spark infers. Raises SchemaError if it reads none."""
    if node.is_repeated and not single:
        return t.ArrayType(_type_of(node, path, True), True)
    if node.is_leaf:
        return _leaf_type(node, path)
    kind = _kind(node)
    if kind == "list":
        element = _element(node)
        if element is not None:
            return t.ArrayType(_type_of(element[0], (*path, "element"), element[1]), True)
    elif kind == "map":
        entry = _entry(node)
        if entry is not None:
            return t.MapType(_type_of(entry[0], (*path, "key")), _type_of(entry[1], (*path, "value")), True)
    elif kind == "variant":
        return t.VARIANT
    else:
        fields = (t.StructField(child.name, _type_of(child, (*path, child.name))) for child in node.children)
        return t.StructType(tuple(fields))
    raise SchemaError(f"{t.display_name(path)} is a {kind} of a form that Spark does not read.")


def _kind(node: ParquetNode) -> str:
    logical = _logical(node)
    kinds = ((f.LIST, "list"), (f.MAP, "map"), (f.VARIANT, "variant"))
    return next((kind for key, kind in kinds if key in logical), "struct")


def _element(node: ParquetNode) -> tuple[ParquetNode, bool] | None:
    """The element of a list, and whether it is the repeated field itself, as in the older layouts of two levels.

    # Apache Parquet, LogicalTypes, Lists: backward-compatibility rules
    """
    if len(node.children) != 1 or not node.children[0].is_repeated:
        return None
    repeated = node.children[0]
    if repeated.is_leaf or len(repeated.children) != 1 or repeated.name in ("array", f"{node.name}_tuple"):
        return repeated, True
    return repeated.children[0], False


def _entry(node: ParquetNode) -> tuple[ParquetNode, ParquetNode] | None:
    if len(node.children) != 1 or not node.children[0].is_repeated or len(node.children[0].children) != 2:
        return None
    key, value = node.children[0].children
    return key, value


def _leaf_type(node: ParquetNode, path: tuple[str, ...]) -> t.DataType:
    logical = _logical(node)
    found = next(_candidates(node, logical), None)
    if found is None:
        raise SchemaError(f"{t.display_name(path)} has a type of Parquet that Spark does not read as a type of Delta.")
    return found


def _crs(logical: dict[int, Any]) -> str:
    return bytes(logical.get(1, b"")).decode() or t.DEFAULT_CRS


def _candidates(node: ParquetNode, logical: dict[int, Any]) -> Iterator[t.DataType]:
    # The numbers of parquet.thrift's Type: BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED.
    physical = node.physical_type
    if f.DECIMAL in logical and physical in (1, 2, 6, 7):
        scale, precision = logical[f.DECIMAL].get(1, 0), logical[f.DECIMAL].get(2, 0)
        if 0 < precision <= 38 and 0 <= scale <= precision:
            yield t.DecimalType(precision, scale)
    elif physical in (1, 2) and (not logical or f.INTEGER in logical):
        width = logical.get(f.INTEGER, {}).get(1, 32 * physical)
        signed = logical.get(f.INTEGER, {}).get(2, True)
        if (width <= 32) == (physical == 1):
            yield from filter(None, [(_SIGNED if signed else _UNSIGNED).get(width)])
    elif physical == 1 and f.DATE in logical:
        yield t.DATE
    elif physical == 2 and f.TIMESTAMP in logical:
        instant, nanos = logical[f.TIMESTAMP].get(1, True), 3 in logical[f.TIMESTAMP].get(2, {})
        if nanos:
            yield t.NANOS if instant else t.NANOS_NTZ
        else:
            yield t.TIMESTAMP if instant else t.TIMESTAMP_NTZ
    elif physical == 6 and (f.STRING in logical or f.ENUM in logical or f.JSON in logical):
        yield t.STRING
    elif physical == _BYTES and f.GEOMETRY in logical:
        yield t.GeometryType(_crs(logical[f.GEOMETRY]))
    elif physical == _BYTES and f.GEOGRAPHY in logical:
        edges = logical[f.GEOGRAPHY].get(2, 0)
        if 0 <= edges < len(t.ALGORITHMS):
            yield t.GeographyType(_crs(logical[f.GEOGRAPHY]), t.ALGORITHMS[edges])
    elif (physical == 6 and (not logical or f.BSON in logical)) or (physical == 7 and not logical):
        yield t.BINARY
    elif not logical and physical in (0, 3, 4, 5):
        yield {0: t.BOOLEAN, 3: t.TIMESTAMP, 4: t.FLOAT, 5: t.DOUBLE}[physical]
