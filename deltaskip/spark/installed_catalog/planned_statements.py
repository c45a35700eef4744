"""UPDATE, MERGE and DELETE of Spark's own SQL on tables of an installed catalog.

Spark resolves the statement, and this package runs its text: Spark's interfaces for changes of rows need writers that
are classes of the JVM on each executor, and pass neither assignments nor conditions on. So a strategy of the planner
takes the resolved statement. # Spark 4.1, ExperimentalMethods.extraStrategies, WriteDelta, ReplaceData
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from deltaskip.errors import SchemaError, UnsupportedFeature
from deltaskip.records import dataclass
from deltaskip.spark.columns.column_parts import option, sequence
from deltaskip.spark.installed_catalog.compiled_java import new_strategy, rule_of_others
from deltaskip.spark.installed_catalog.merged_frames import MergeOfFrame
from deltaskip.spark.session.error_conversion import predicate_errors_named
from deltaskip.spark.session.jvm import Jvm, Proxy, Unmeasured, answers
from deltaskip.spark.session.session_settings import java_class, java_session, java_state, private_field
from deltaskip.sparkexpr import parameter_names
from deltaskip.sparkexpr.text.sql_text import SqlToken, quoted_path, sql_string, sql_tokens
from deltaskip.sparkexpr.types import display_name
from deltaskip.statements.reader import NameParts, StatementTable
from deltaskip.statements.row_statements import Delete, MergeInto, Update
from deltaskip.statements.run import parse_statement
from deltaskip.statements.statement import StatementSession
from deltaskip.table.table import DeltaTable

if TYPE_CHECKING:
    from deltaskip.spark.installed_catalog.installed_table import InstalledTable

# Before a statement: those of EXPLAIN, and of a script.
_BEFORE = ("EXPLAIN", "EXTENDED", "CODEGEN", "COST", "FORMATTED", "BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT")
_CONSTANTS_ONLY = "spark.sql.legacy.parameterSubstitution.constantsOnly"
_RULE_OF_DELTA = "org.apache.spark.sql.delta.DeltaAnalysis"
# Fields of an Origin of Spark 4.0, which has no values of parameters.
_ARITY = 9


class RowStatements(Proxy):
    """Plans the statements of a session that change rows of tables of installed catalogs.

    Args:
        jvm: The session's JVM.
    """

    def __init__(self, jvm: Jvm) -> None:
        super().__init__(jvm, f"deltaskip statements #{id(self)}")
        self.tables: WeakValueDictionary[str, InstalledTable] = WeakValueDictionary()
        """The tables that statements change, by their texts."""
        self._strategy = new_strategy(jvm, self)

    def install(self) -> None:
        """Let the session's planner ask for statements, and delta-spark leave them alone."""
        self._replace_strategies([*sequence(self._methods.extraStrategies()), self._strategy])
        self._guard_merges()

    def uninstall(self) -> None:
        """Undo `install`."""
        others = [each for each in sequence(self._methods.extraStrategies()) if not each.equals(self._strategy)]
        self._replace_strategies(others)

    def _guard_merges(self) -> None:
        """Keep delta-spark's rule, where the session has it, from MERGE of tables that are not its own.

        It refuses to set a field of a struct before it looks at the table, and is kept from it until the session ends.
        # delta-spark 4.4, DeltaAnalysis, DeltaMergeIntoClause.toActions
        """
        analyzer = java_state(self.jvm.spark).analyzer()
        rules = list(sequence(analyzer.extendedResolutionRules()))
        names = [str(each.getClass().getName()) for each in rules]
        if _RULE_OF_DELTA in names:
            at = names.index(_RULE_OF_DELTA)
            rules[at] = rule_of_others(self.jvm, rules[at])
            private_field(analyzer, "extendedResolutionRules").set(analyzer, self.jvm.sequence(rules))

    @property
    def _methods(self) -> Any:
        return java_session(self.jvm.spark).experimental()

    def _replace_strategies(self, strategies: list[Any]) -> None:
        getattr(self._methods, "extraStrategies_$eq")(self.jvm.sequence(strategies).toList())

    @answers()
    def apply(self, plan: Any) -> Any:
        """Function: the physical plan of a statement that changes rows; None if it is not of these tables."""
        # Spark may have put the columns into another order.
        relation = plan.children().head().collectLeaves().head()
        if relation.getClass().getSimpleName() == "DataSourceV2ScanRelation":
            relation = relation.relation()
        if relation.getClass().getSimpleName() != "DataSourceV2Relation":
            return None
        table = self.tables.get(str(relation.table().toString()))
        if table is None:
            return None
        text, start, end = _place_of(self.jvm, plan)
        # The statement of `DataFrame.mergeInto` has no text. # Spark 4.1, MergeIntoWriter.merge
        change = MergeOfFrame(self.jvm, plan, table.name()) if text is None else _change(table, text, start, end)
        run = RunningStatement(self.jvm, table, change)
        v2 = self.jvm.view.org.apache.spark.sql.execution.datasources.v2
        options = [self.jvm.options({})] if _takes_options(v2.TruncateTableExec) else []
        return v2.TruncateTableExec(run, self._strategy.nothing(), *options)

    class Java:
        """The interfaces that Spark sees."""

        implements = ("java.util.function.Function",)


class RunningStatement(Unmeasured, Proxy):
    """A statement as a table that Spark truncates, which is how its physical plan calls this process.

    Args:
        jvm: The session's JVM.
        table: The table that the statement changes.
        change: The statement.
    """

    def __init__(self, jvm: Jvm, table: InstalledTable, change: Delete | Update | MergeInto | MergeOfFrame) -> None:
        super().__init__(jvm, f"{type(change).__name__} of {table.text}")
        self._table = table
        self._change = change

    @answers()
    def truncateTable(self, _options: Any = None) -> bool:
        """TruncatableTable: run the statement."""
        spark, table, change = self.jvm.spark, self._table, self._change
        if not isinstance(change, MergeOfFrame) and change.alias is None:
            # Columns may be qualified by more of the name than the statement has.
            change = replace(change, name=table.parts)
        # Queries in the statement must not read an older version from the cache than the statement changes.
        self._refresh_cached()
        change.run(_InstalledSession(spark, table.catalog, table.latest()))
        self._refresh_cached()
        return True

    def _refresh_cached(self) -> None:
        spark = self.jvm.spark
        if not java_session(spark).sharedState().cacheManager().isEmpty():
            spark.catalog.refreshTable(quoted_path(self._table.parts))

    def name(self) -> str:
        """Table: the name in plans."""
        return self.text

    @answers()
    def schema(self) -> Any:
        """Table: the columns."""
        return self._table.schema()

    @answers()
    def columns(self) -> Any:
        """Table: the columns, with their defaults."""
        return self._table.columns()

    @answers()
    def capabilities(self) -> Any:
        """Table: none that matters here."""
        return self.jvm.view.java.util.HashSet()

    class Java:
        """The interfaces that Spark sees."""

        implements = ("org.apache.spark.sql.connector.catalog.TruncatableTable",)


@dataclass(frozen=True, slots=True)
class _InstalledSession(StatementSession):
    """A session in which names mean what Spark resolves: queries are Spark's own, unlike those of `catalog.sql`.

    Attributes:
        target: The table that the statement changes.
    """

    target: DeltaTable

    def table(self, name: NameParts | StatementTable) -> DeltaTable:
        return self.target

    def query(self, text: str) -> Any:
        with predicate_errors_named(self.target.uri, f"the query {text}"):
            return self.spark.sql(text)


def _change(table: InstalledTable, text: str, start: int, end: int) -> Delete | Update | MergeInto:
    """The statement in a text, which may be a script or an EXPLAIN.

    start, end: Where it begins and ends. Raises UnsupportedFeature for a statement that is not run by its text.
    """
    name = display_name(table.parts)
    if parameter_names(text) or any(token.is_symbol("?") for token in _tokens(text)):
        raise UnsupportedFeature(
            f"The statement on the table {name} has parameters, whose values Spark {table.jvm.spark.version} does not "
            f"pass on (from 4.1 on it does, unless {_CONSTANTS_ONLY} = true): write the values into the text, or run "
            f"it with catalog.sql(spark, text, params=args). The statement: {text}"
        )
    found = None
    if _is_whole(text, start, end):
        with suppress(SchemaError, ValueError):
            found = parse_statement(_with_name(_without_variables(text[start:end]), quoted_path(table.parts)))
    if isinstance(found, Delete | Update | MergeInto):
        return found
    raise UnsupportedFeature(
        f"The statement on the table {name} cannot be run as it is written: begin it with UPDATE, DELETE FROM or MERGE "
        f"INTO, and move the query of WITH into USING (WITH … SELECT …) or a temporary view. The statement: {text}"
    )


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether a statement is all of a text, but for EXPLAIN before it, or stands by itself in a script.

    Names of a WITH before the statement would mean other relations.
    """
    tokens = _tokens(text)
    before = [token for token in tokens if token.start < start]
    after = [token for token in tokens if token.end > end]
    inside = tokens[len(before) : len(tokens) - len(after)]
    begins = not before or before[-1].is_symbol(";") or before[-1].is_symbol(":") or before[-1].is_word(*_BEFORE)
    ends = not after or after[0].is_symbol(";")
    return begins and ends and bool(inside) and inside[0].start == start and inside[-1].end == end


def _with_name(text: str, name: str) -> str:
    """The statement with the name of the table in place of IDENTIFIER(…), whose value Spark has resolved."""
    tokens = _tokens(text)
    for at, token in enumerate(tokens[:6]):
        if token.is_word("IDENTIFIER") and at + 1 < len(tokens) and tokens[at + 1].is_symbol("("):
            last = next(i for i in range(at, len(tokens)) if tokens[i].is_symbol(")"))
            return f"{text[: token.start]}{name}{text[tokens[last].end :]}"
        if token.is_word("SET", "WHERE", "USING"):
            break
    return text


def _without_variables(text: str) -> str:
    """The statement in which no string, such as the value of a parameter, is taken for a variable when it runs."""
    for token in reversed(_tokens(text) if "${" in text else []):
        if token.kind == "string" and "${" in token.text:
            text = text[: token.start] + sql_string(token.text) + text[token.end :]
    return text


def _place_of(jvm: Jvm, plan: Any) -> tuple[str | None, int, int]:
    """The text that a statement is in, with values for its parameters, and where it begins and ends there.

    Spark replaces variables, then parameters by literals, and parses the result, to which the places belong.
    # Spark 4.1, SparkSqlParser.parseInternal, ParameterHandler, PositionMapper.substitutedText; 4.0 binds them in plans

    Raises UnsupportedFeature if a minus and a negative value begin a comment.
    """
    origin = plan.origin()
    text, start, stop = map(option, (origin.sqlText(), origin.startIndex(), origin.stopIndex()))
    mapper = option(origin.positionMapper()) if origin.productArity() > _ARITY else None
    if mapper is not None:
        for each in sequence(mapper.substitutions()):
            if text[: each.start()].endswith("-") and each.replacement().startswith("-"):
                raise UnsupportedFeature(
                    f"Spark takes the minus before {text[each.start() : each.end()]} and its value "
                    f"{each.replacement()} for the beginning of a comment: write a blank after the minus, in: {text}"
                )
        text = str(mapper.substitutedText())
    elif text is not None and "${" in text:
        # The places are those in the text with the values of variables.
        text = str(jvm.view.org.apache.spark.sql.internal.VariableSubstitution().substitute(text))
    return (None, 0, 0) if start is None or stop is None else (text, start, stop + 1)


def _takes_options(of: Any) -> bool:
    """Whether the class has a third parameter, as in Spark 4.3."""
    return any(len(each.getParameterTypes()) > 2 for each in java_class(of).getConstructors())


def _tokens(text: str) -> list[SqlToken]:
    try:
        return sql_tokens(text)
    except SchemaError:
        return []
