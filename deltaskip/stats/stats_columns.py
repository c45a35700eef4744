"""The columns of a table that have statistics, and their names.

# PROTOCOL, Table Properties: delta.dataSkippingStatsColumns names them; without it they are the first leaves, as many
# as delta.dataSkippingNumIndexedCols. They are counted and matched as in delta-spark 4.4: partition columns do not
# count, an array or a map is one leaf, and a struct is the leaves below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field

from deltaskip.errors import InvalidCollation, PredicateError
from deltaskip.records import dataclass
from deltaskip.schema.mapping import field_id
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import CollationId, find, is_utf8_binary

STATS_COLUMNS = TableProperties.stats_columns.name
INDEXED_COLUMNS = TableProperties.num_indexed_columns.name

_BOUNDED = frozenset((*t.INTEGRAL_BITS, *t.FLOATING, *t.DATETIMES, *t.NANOSECONDS, t.STRING))


@dataclass(frozen=True, slots=True)
class StatColumn:
    """A leaf with statistics: logical and physical names from the root, Parquet field ids, and type.

    collation: As declared; None is binary order. bounded: Whether minValues and maxValues contain the column; nullCount
    contains every column. delta-spark writes no bounds for booleans, binary, arrays and maps. The bounds of a
    collated string are in binary order: they serve comparisons in that order, and readers without collations.
    inside_variants: Whether files have bounds of the paths inside variants. The bounds of shapes are boxes.
    """

    logical: tuple[str, ...]
    physical: tuple[str, ...]
    field_ids: tuple[int | None, ...]
    type: t.DataType
    collation: str | None = None
    inside_variants: bool = False
    bounded: bool = field(init=False)

    @property
    def ordered(self) -> bool:
        """Whether the bounds are values of an order, so that files can be clustered by the column."""
        return self.bounded and self.type != t.VARIANT and not isinstance(self.type, t.GEOSPATIAL)

    def __post_init__(self) -> None:
        bounded = self.type in _BOUNDED or isinstance(self.type, (t.DecimalType, *t.GEOSPATIAL))
        object.__setattr__(self, "bounded", bounded or (self.type == t.VARIANT and self.inside_variants))


def indexed_columns(
    schema: t.StructType,
    *,
    partition_columns: Sequence[str] = (),
    mapping_mode: t.MappingMode = "none",
    properties: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[StatColumn, ...]:
    """Return the columns with statistics, in the schema's order.

    columns: Names to use instead of the table's properties, each of a leaf or of a struct with all its leaves, with
    dots between parts and backticks around a part that needs them. Raises SchemaError for a property that cannot be
    parsed, and PredicateError for a name that cannot be parsed or a column that does not exist.
    """
    partitions = {t.fold_name(name) for name in partition_columns}
    fields = tuple(each for each in schema.fields if t.fold_name(each.name) not in partitions)
    settings = TableProperties.from_configuration(properties)
    # PROTOCOL, Variant Data Type: bounds of variants only if the table enables variant shredding.
    found = tuple(_leaves(fields, mapping_mode, (), (), (), settings.well_formed().variant_shredding))
    if columns is not None:
        names = [name for text in columns for name in t.parse_names(text, "columns", PredicateError)]
        return _named(found, names, strict=True)
    if settings.stats_columns is not None:
        return _named(found, t.parse_names(settings.stats_columns, STATS_COLUMNS), strict=False)
    limit = settings.num_indexed_columns
    return found if limit < 0 else found[:limit]


def every_column(
    schema: t.StructType, partition_columns: Sequence[str], mapping_mode: t.MappingMode
) -> tuple[StatColumn, ...]:
    """Return the columns that can have statistics, whatever the table's properties say."""
    everyone = {INDEXED_COLUMNS: "-1"}
    return indexed_columns(schema, partition_columns=partition_columns, mapping_mode=mapping_mode, properties=everyone)


def columns_named(names: Iterable[Sequence[str]], columns: Iterable[StatColumn]) -> list[StatColumn | None]:
    """Return the column that has each name, in any letter case; None where none has it."""
    found = {tuple(map(t.fold_name, each.logical)): each for each in columns}
    return [found.get(tuple(map(t.fold_name, name))) for name in names]


def of_every_column(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a table, but for those that select the columns with statistics, which are all."""
    return {**{name: text for name, text in properties.items() if name != STATS_COLUMNS}, INDEXED_COLUMNS: "-1"}


def declared_collations(
    columns: Sequence[StatColumn], write_versions: Mapping[str, Sequence[str]] | None = None
) -> dict[str, list[str]]:
    """Column name → versioned identifiers of the statistics to write for the collations that the schema declares.

    write_versions: from the domain metadata `collations`, unversioned identifier → versions; versions that no
    installed library evaluates are left out. None: the default version of `collation`, Spark 4.1's if it is available.
    """
    wanted: dict[str, list[str]] = {}
    for column in columns:
        if column.collation is None:
            continue
        evaluators = [find(identifier) for identifier in _versions(column.collation, write_versions)]
        identifiers = [str(found.id.canonical) for found in evaluators if found is not None]
        if identifiers:
            wanted[t.display_name(column.logical)] = list(dict.fromkeys(identifiers))
    return wanted


def _versions(declared: str, write_versions: Mapping[str, Sequence[str]] | None) -> Iterator[CollationId]:
    identifier = CollationId.parsed(declared)
    if identifier is None:
        return
    collation = identifier.without_version.canonical
    if write_versions is None:
        yield collation
        return
    for text, versions in write_versions.items():
        # Any writer may fill the domain; what is malformed is ignored.
        listed = CollationId.parsed(text)
        for version in versions if listed is not None and listed.canonical == collation.canonical else ():
            with suppress(InvalidCollation):
                yield collation.with_version(version)


def _leaves(
    fields: Sequence[t.StructField],
    mode: t.MappingMode,
    logical: tuple[str, ...],
    physical: tuple[str, ...],
    ids: tuple[int | None, ...],
    inside: bool,
) -> Iterator[StatColumn]:
    for each in fields:
        names = (*logical, each.name), (*physical, t.physical_name(each, mode)), (*ids, field_id(each))
        if isinstance(each.type, t.StructType):
            yield from _leaves(each.type.fields, mode, *names, inside)
        else:
            collation = t.declared_collation(each, each.name) if each.type == t.STRING else None
            order = None if collation is None or is_utf8_binary(collation) else collation
            yield StatColumn(*names, each.type, order, inside)


def _named(found: Sequence[StatColumn], names: Sequence[tuple[str, ...]], strict: bool) -> tuple[StatColumn, ...]:
    """Return the leaves at or below a name, ignoring case. With `strict`, a name without leaves is an error."""
    wanted = {tuple(map(t.fold_name, name)) for name in names}
    taken = []
    met = set()
    for column in found:
        path = tuple(map(t.fold_name, column.logical))
        above = {path[:n] for n in range(1, len(path) + 1)} & wanted
        met |= above
        if above:
            taken.append(column)
    missing = [name for name in names if tuple(map(t.fold_name, name)) not in met]
    if strict and missing:
        raise PredicateError(
            f"There is no data column {t.display_name(missing[0])} that can have statistics; partition columns have "
            f"none."
        )
    return tuple(taken)
