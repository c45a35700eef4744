"""Columns of DataFrames of a table, such as `table.toDF()["id"]`, which a change of the table takes as its own columns.

The column of a classic DataFrame holds an attribute with the id of an expression, the column of a DataFrame of Spark
Connect the id of its plan. Spark resolves neither over other DataFrames, so they are replaced by names.
"""

from __future__ import annotations

import copy
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyspark
from pyspark.sql import Column, DataFrame

from deltaskip.errors import PredicateError
from deltaskip.records import dataclass
from deltaskip.spark.columns.column_parts import jvm, sequence
from deltaskip.spark.columns.from_expression import expression_to_node
from deltaskip.spark.columns.to_column import to_column
from deltaskip.spark.session.session_settings import java_frame
from deltaskip.sparkexpr.nodes import Opaque, walk
from deltaskip.sparkexpr.text.sql_text import quoted_path
from deltaskip.sparkexpr.types import fold_name, parse_names

_CATALYST = pyspark.__version__.startswith("3.")
# Spark 3.5 to 4.3, Dataset.DATASET_ID_KEY
_DATASET_ID = "__dataset_id"


@dataclass(frozen=True, slots=True)
class _Frame:
    """A DataFrame of a table.

    Attributes:
        table: The location of the table.
        names: The names of its columns.
        frame_id: The id of the DataFrame in the JVM, or of its plan in Spark Connect.
        ids: The ids of its attributes in the JVM, in the order of `names`; empty in Spark Connect.
        client: The connection to the JVM; None in Spark Connect.
    """

    table: str
    names: tuple[str, ...]
    frame_id: int
    ids: array[int]
    client: object


# The newest DataFrames of tables. Columns of an older one are refused.
_frames: deque[_Frame] = deque(maxlen=500)


def remember_frame(frame: DataFrame, table: str, names: tuple[str, ...]) -> DataFrame:
    """Return the DataFrame, whose columns `as_columns_of` takes from now on.

    Args:
        frame: Rows of the table.
        table: The location of the table.
        names: The names of the DataFrame's columns.
    """
    java: Any = getattr(frame, "_jdf", None)
    if java is None:
        plan: Any = frame._plan
        _frames.append(_Frame(table, names, plan._plan_id, array("q"), None))
    else:
        text = str(java.queryExecution().analyzed().output().toString())
        ids = _ids(text, names)
        if ids:
            _frames.append(_Frame(table, names, _dataset_id(java, names[0]), ids, java._gateway_client))
    return frame


def _dataset_id(java: Any, name: str) -> int:
    """The id of a classic DataFrame, which Spark adds to the metadata of its columns; -1 if it does not."""
    if not _CATALYST:
        return int(java.id())
    # In Spark 3.5 the id is private.
    metadata = java.col(quoted_path((name,))).expr().metadata()
    return int(metadata.getLong(_DATASET_ID)) if metadata.contains(_DATASET_ID) else -1


def _ids(text: str, names: tuple[str, ...]) -> array[int] | None:
    """The ids of attributes in the text of their list, such as `List(id#0L, name#1)`; None for another text.

    One request to the JVM returns the text, and a request for each attribute would take 0.1 ms.
    """
    found = array("q")
    place = text.find("(") + 1
    for name in names:
        start = place + len(name) + 1
        end = start
        while text[end : end + 1].isdigit():
            end += 1
        if not text.startswith(f"{name}#", place) or end == start:
            return None
        found.append(int(text[start:end]))
        place = end + (text[end : end + 1] == "L") + len(", ")
    return found


def as_columns_of(column: Column, table: str, qualifier: str | None, source: DataFrame | None = None) -> Column:
    """Return a Column with names in place of the columns of the table's DataFrames.

    Args:
        column: The Column.
        table: The location of the table.
        qualifier: The name of the table in expressions; None for none.
        source: The source of a MERGE, whose columns stay.

    Raises:
        PredicateError: A column belongs to a DataFrame of neither, or to a DataFrame of the table that is also the
            source.
    """
    replaced = _Replaced(table, qualifier, source)
    java: Any = getattr(column, "_jc", None)
    if java is None:
        tree: Any = column._expr
        found: Any = replaced.connect(tree)
        return column if found is tree else type(column)(found)
    tree = java.expr() if _CATALYST else java.node()
    found = replaced.expression(tree) if _CATALYST else replaced.node(tree)
    return column if found is tree else type(column)(jvm().org.apache.spark.sql.Column(found))


class _Replaced:
    """Replaces columns of the table's DataFrames in trees of Spark.

    Args: as `as_columns_of` has.
    """

    def __init__(self, table: str, qualifier: str | None, source: Any) -> None:
        self._table = table
        self._qualifier = () if qualifier is None else (qualifier,)
        self._source = source
        self._output: Any = None

    def node(self, tree: Any) -> Any:
        """A tree of ColumnNode, in Spark 4."""
        if tree.getClass().getSimpleName() != "ExpressionColumnNode":
            return self._rebuilt(tree, self.node)
        expression = tree.expression()
        found = self.expression(expression)
        if found is expression:
            return tree
        written = expression_to_node(found)
        if any(isinstance(part, Opaque) for part in walk(written)):
            return _made(tree, [found, tree.origin()])
        return to_column(written)._jc.node()

    def expression(self, tree: Any) -> Any:
        """An expression of Catalyst."""
        catalyst = jvm().org.apache.spark.sql.catalyst
        match tree.getClass().getSimpleName():
            case "AttributeReference":
                name = self._attribute(tree)
                if name is None:
                    return tree
                return catalyst.analysis.UnresolvedAttribute(_seq((*self._qualifier, name)))
            case "Alias":
                before = tree.child()
                after = self.expression(before)
                return tree if after is before else after
            case "GetStructField" | "GetArrayStructFields" as kind:
                # The field has another number if the table's struct has changed since.
                before = tree.child()
                after = self.expression(before)
                if after is before:
                    return tree
                field = tree.childSchema().fields()[tree.ordinal()] if kind == "GetStructField" else tree.field()
                literals = getattr(getattr(catalyst.expressions, "Literal$"), "MODULE$")
                name = literals.apply(str(field.name()))
                return catalyst.analysis.UnresolvedExtractValue(after, name)
            case _:
                children = list(sequence(tree.children()))
                changed = [self.expression(child) for child in children]
                return tree if _same(children, changed) else tree.withNewChildren(_seq(changed))

    def connect(self, tree: Any) -> Any:
        """An expression of Spark Connect."""
        if type(tree).__name__ == "ColumnReference" and getattr(tree, "_plan_id", None) is not None:
            text = tree._unparsed_identifier
            known = next((f for f in reversed(_frames) if f.client is None and f.frame_id == tree._plan_id), None)
            in_source = self._source is not None and tree._plan_id in _plan_ids(self._source._plan)
            if not self._is_own(known, in_source, text):
                return tree
            assert known is not None
            parts = parse_names(text, "A column", PredicateError)[0] if text else ()
            columns = {fold_name(name) for name in known.names}
            # The first part may be the alias of the DataFrame.
            path = parts[1:] if len(parts) > 1 and fold_name(parts[0]) not in columns else parts
            found = copy.copy(tree)
            found._unparsed_identifier, found._plan_id = quoted_path((*self._qualifier, *path)), None
            return found
        found = None
        for name, value in list(vars(tree).items()):
            changed = _mapped(value, self.connect)
            if changed is not value:
                found = copy.copy(tree) if found is None else found
                setattr(found, name, changed)
        return tree if found is None else found

    def _attribute(self, tree: Any) -> str | None:
        """The name of the table's column that an attribute stands for; None for a column of the source."""
        number, client = tree.exprId().id(), tree._gateway_client
        known = next((f for f in reversed(_frames) if f.client is client and number in f.ids), None)
        in_source = self._in_source(tree)
        if known is not None and in_source:
            # A DataFrame that was derived from one of the table has the same attributes.
            metadata = tree.metadata()
            taken = metadata.getLong(_DATASET_ID) if metadata.contains(_DATASET_ID) else known.frame_id
            if not any(f.client is client and f.frame_id == taken for f in _frames):
                return None
        if not self._is_own(known, in_source, str(tree.name())):
            return None
        assert known is not None
        return known.names[known.ids.index(number)]

    def _in_source(self, tree: Any) -> bool:
        if self._source is None:
            return False
        if self._output is None:
            self._output = java_frame(self._source).queryExecution().analyzed().outputSet()
        return bool(self._output.contains(tree))

    def _is_own(self, known: _Frame | None, in_source: bool, name: str) -> bool:
        """Whether a column is the table's. Raises PredicateError if it belongs to both sides or to none."""
        own = known is not None and known.table == self._table
        if own and in_source:
            raise PredicateError(
                f"The column {name} belongs to a DataFrame of {self._table} that is also the source of the merge: name "
                f"the sides, as in F.col('t.{name}') == F.col('s.{name}') with the aliases t and s."
            )
        if own or in_source:
            return own
        sides = f"not of {self._table}" if self._source is None else f"neither of {self._table} nor the source"
        raise PredicateError(
            f"The column {name} belongs to a DataFrame that is {sides}: write F.col('{name}') for df['{name}']."
        )

    def _rebuilt(self, tree: Any, change: Callable[[Any], Any]) -> Any:
        """A case class of Scala whose members that are trees have changed; the same object if none has."""
        before = [tree.productElement(i) for i in range(tree.productArity())]
        after = [_changed(value, change) for value in before]
        return tree if _same(before, after) else _made(tree, after)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """A member of a ColumnNode: a node, a sequence, an option or a pair of them, or anything else."""
    if not hasattr(value, "getClass"):
        return value
    kind = value.getClass()
    package, _, name = str(kind.getName()).rpartition(".")
    if package in ("org.apache.spark.sql.internal", "org.apache.spark.sql.classic"):
        return change(value) if hasattr(value, "productArity") else value
    if name.startswith("Tuple2"):
        pair = value._1(), value._2()
        after = tuple(_changed(each, change) for each in pair)
        return value if _same(pair, after) else jvm().scala.Tuple2(*after)
    if name == "Some":
        inner = value.get()
        after_one = _changed(inner, change)
        return value if after_one is inner else jvm().scala.Some(after_one)
    if package.startswith("scala.collection") and hasattr(value, "apply") and hasattr(value, "size"):
        items = list(sequence(value))
        found = [_changed(item, change) for item in items]
        return value if _same(items, found) else _seq(found)
    return value


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A member of an expression of Spark Connect: an expression, a list or tuple of them, or anything else."""
    if isinstance(value, list | tuple):
        found = [_mapped(each, change) for each in value]
        return value if _same(value, found) else type(value)(found)
    return change(value) if hasattr(value, "to_plan") else value


def _same(before: Sequence[Any], after: Sequence[Any]) -> bool:
    return all(one is other for one, other in zip(before, after, strict=True))


def _plan_ids(plan: Any) -> Iterator[int]:
    """The ids of a plan of Spark Connect and of all plans in it."""
    if type(plan).__module__ != "pyspark.sql.connect.plan":
        return
    if hasattr(plan, "_plan_id"):
        yield plan._plan_id
    for value in vars(plan).values():
        for each in value if isinstance(value, list | tuple) else (value,):
            yield from _plan_ids(each)


def _seq(items: Iterable[Any]) -> Any:
    """A Seq of Scala."""
    found = jvm().java.util.ArrayList()
    for item in items:
        found.add(item)
    return jvm().PythonUtils.toSeq(found)


def _made(tree: Any, members: list[Any]) -> Any:
    """An object of the class of a case class of Scala, with other members."""
    context: Any = pyspark.SparkContext._active_spark_context
    values = context._gateway.new_array(context._jvm.java.lang.Object, len(members))
    for i, member in enumerate(members):
        values[i] = member
    return tree.getClass().getConstructors()[0].newInstance(values)
