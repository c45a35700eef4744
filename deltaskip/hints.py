"""Names that other libraries have, and what deltaskip has in their place.

A name that an object lacks raises an AttributeError that says what to write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from deltaskip.errors import InvalidArgumentType, meant

if TYPE_CHECKING:
    from inspect import Signature

OF_MODULE = {
    "write_deltalake": "write(path, rows, mode=…)",
    "write_delta": "write(path, rows, mode=…)",
    "to_delta": "write(path, rows, mode=…)",
    "read_delta": "read_pandas(path), scan_polars(path) or DeltaTable(path).scan(where).to_arrow()",
    "read_deltalake": "read_pandas(path), scan_polars(path) or DeltaTable(path).scan(where).to_arrow()",
    **dict.fromkeys(("read", "load", "open"), "DeltaTable(path), read_pandas(path) or scan_polars(path)"),
    "read_arrow": "DeltaTable(path).scan(where).to_arrow()",
    **dict.fromkeys(("read_duckdb", "to_duckdb"), "DeltaTable(path).scan().to_duckdb(connection, name)"),
    "read_polars": "scan_polars(path).collect()",
    "read_table": "DeltaTable(path).scan(where).to_arrow()",
    "scan_delta": "scan_polars(path)",
    "delta_scan": "sql(\"SELECT … FROM 'path'\") or DeltaTable(path).scan(where)",
    "QueryBuilder": "sql(\"SELECT … FROM 'path'\")",
    "query": "sql(\"SELECT … FROM 'path'\")",
    "convert_to_deltalake": "convert_to_delta(path)",
    **dict.fromkeys(("is_deltatable", "is_delta_table", "exists"), "DeltaTable.exists(path)"),
    "load_catalog": "catalog(url)",
    "connect": "catalog(url)",
    "Field": "StructField",
    "Schema": "StructType, or SQL text such as 'id BIGINT, name STRING'",
    "Table": "DeltaTable",
    "column": "col(name)",
    "expr": "SQL text, which every argument where takes",
}
"""Names of modules."""
OF_TABLES = {
    "forPath": "DeltaTable(path)",
    "for_path": "DeltaTable(path)",
    "load": "DeltaTable(path)",
    "forName": "catalog(url).load_table(name)",
    "from_data_catalog": "catalog(url).load_table(name)",
    "isDeltaTable": "DeltaTable.exists(path)",
    "is_deltatable": "DeltaTable.exists(path)",
    "convertToDelta": "convert_to_delta(path)",
    "createIfNotExists": "DeltaTable.create(path, schema, mode='ignore')",
    "createOrReplace": "DeltaTable.create(path, schema, mode='replace')",
    "replace": "DeltaTable.create(path, schema, mode='replace')",
    "write": "deltaskip.write(path, rows)",
}
"""Names of the class of tables."""
OF_OPTIMIZE = {
    "compact": "optimize()",
    "repair": "verify(data=True, repair=True)",
    "z_order": "optimize(zorder_by=[…])",
    "executeCompaction": "optimize()",
    "executeZOrderBy": "optimize(zorder_by=[…])",
    "where": "optimize(where)",
}
OF_ALTER = {
    "add_columns": "alter(AddColumn(name, type))",
    "add_constraint": "alter(AddConstraint(name, expression))",
    "drop_constraint": "alter(DropConstraint(name))",
    "set_table_properties": "alter(SetProperty(name, value))",
    "set_column_metadata": "alter(UpdateColumnComment(name, comment))",
    "set_table_name": "create(…, name=name)",
    "set_table_description": "alter(SetComment(text))",
    "add_feature": "add_feature(name)",
}
_OF_DELTA_SPARK = " (deltaskip.delta.tables.DeltaTable has the methods of delta-spark.)"


def no_name(module: str, name: str, names: Sequence[str]) -> AttributeError:
    """Return the error for a name that a module lacks. names: Its public names."""
    cure = f" Write {OF_MODULE[name]}." if name in OF_MODULE else meant(name, names)
    return AttributeError(f"{module} has no {name}.{cure}", name=name)


class OfTables(type):
    """The class of a class of tables, whose missing names say what to write."""

    def __getattr__(cls, name: str) -> NoReturn:
        cure = f" Write {OF_TABLES[name]}." if name in OF_TABLES else ""
        shown = f"{cls.__name__} has no {name}.{cure}"
        raise AttributeError(shown + _OF_DELTA_SPARK * (name in OF_TABLES and name != name.lower()), name=name)


def no_elements(of: object, key: object, scan: str) -> InvalidArgumentType:
    """Return the error for the element of a table or a scan. scan: The beginning of the call that has it."""
    names = [key] if isinstance(key, str) else key
    if isinstance(names, list) and names and all(isinstance(each, str) for each in names):
        cure = f"write {scan}columns={names!r}) for columns"
    else:
        cure = f"write {scan}where), where deltaskip.col('id') > 5 is a predicate, for rows"
    return InvalidArgumentType(f"A {type(of).__name__} has no elements: {cure}.")


class HintedMethod:
    """A method whose attributes are methods in another library, such as `table.optimize.compact()`.

    Args:
        function: The method.
        instead: What to write, by the name in the other library.
    """

    def __init__(self, function: Callable[..., Any], instead: Mapping[str, str]) -> None:
        self.func, self._instead = function, instead

    def __get__(self, of: object, owner: type | None = None) -> Any:
        return self.func if of is None else _Bound(self.func, of, self._instead)


class _Bound:
    # A bound method with hints. Its docstring is that of the method.
    __slots__ = ("__doc__", "_instead", "_method", "_of")

    def __init__(self, function: Callable[..., Any], of: Any, instead: Mapping[str, str]) -> None:
        self._method, self._of, self._instead = function.__get__(of), of, instead
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._method(*args, **named)

    def __getattr__(self, name: str) -> Any:
        if name in self._instead:
            whole = f"{self._method.__name__}.{name}"
            raise AttributeError(f"A {type(self._of).__name__} has no {whole}: write {self._instead[name]}.", name=name)
        return getattr(self._method, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self._of, self._method.__name__)

    def __repr__(self) -> str:
        return repr(self._method)

    @property
    def __signature__(self) -> Signature:
        # Only a look at the signature needs this import.
        from inspect import signature

        return signature(self._method)


class VersionNumber(int):
    """The number of a version, which is a method in delta-rs."""

    __slots__ = ()

    def __call__(self, *args: object, **named: object) -> NoReturn:
        """Raise InvalidArgumentType: the version is an attribute."""
        raise InvalidArgumentType("version is the value of an attribute, not a method: leave out the parentheses.")

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int(self),)
