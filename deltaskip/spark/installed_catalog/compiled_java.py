"""Classes of the JVM that Spark's own compiler makes: what classes of this process cannot be, or would be slow at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from deltaskip.spark.session.jvm import Jvm

_JAVA = """
package deltaskip;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.sql.catalyst.catalog.CatalogColumnStat;
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.List;
public class RowStatements extends org.apache.spark.sql.execution.SparkStrategy {
    private final java.util.function.Function planned;
    public RowStatements(java.util.function.Function planned) { this.planned = planned; }
    public scala.collection.immutable.Seq apply(LogicalPlan plan) {
        List none = (List) scala.collection.immutable.Nil$.MODULE$;
        boolean changes = plan instanceof UpdateTable || plan instanceof DeleteFromTable;
        Object found = changes || plan instanceof MergeIntoTable ? planned.apply(plan) : null;
        return found == null ? none : none.$colon$colon(found);
    }
    public scala.Function0 nothing() {
        return new scala.runtime.AbstractFunction0() {
            public Object apply() { return scala.runtime.BoxedUnit.UNIT; }
        };
    }
    public Object renamed(Object part, java.util.Map names) {
        Expression expression = (Expression) part;
        if (expression instanceof AttributeReference) {
            AttributeReference column = (AttributeReference) expression;
            Object name = names.get(String.valueOf(column.exprId().id()));
            return name == null ? column : column.withName((String) name);
        }
        java.util.ArrayList children = new java.util.ArrayList();
        scala.collection.Iterator each = expression.children().iterator();
        while (each.hasNext()) children.add(renamed(each.next(), names));
        if (children.isEmpty()) return expression;
        return expression.withNewChildren(scala.jdk.javaapi.CollectionConverters.asScala(children).toSeq());
    }
    public boolean hasOtherZone(Object part, String zone) {
        Expression expression = (Expression) part;
        if (expression instanceof TimeZoneAwareExpression) {
            scala.Option own = ((TimeZoneAwareExpression) expression).timeZoneId();
            if (own.isDefined() && !zone.equals(own.get())) return true;
        }
        scala.collection.Iterator children = expression.children().iterator();
        while (children.hasNext()) {
            if (hasOtherZone(children.next(), zone)) return true;
        }
        return false;
    }
    public Object ruleOfOthers(Object rule) {
        return new RuleOfOthers((Rule) rule);
    }
    public Object statistics(Object known, Object schema) {
        return new Estimate((CatalogStatistics) known, (StructType) schema);
    }
}
class Estimate implements org.apache.spark.sql.connector.read.Statistics {
    private final CatalogStatistics known;
    private final java.util.Map columns = new java.util.HashMap();
    Estimate(CatalogStatistics known, StructType schema) {
        this.known = known;
        StructField[] fields = schema.fields();
        for (int i = 0; i < fields.length; i++) {
            String name = fields[i].name();
            scala.Option found = known.colStats().get(name);
            if (found.isEmpty()) continue;
            ColumnStat column = ((CatalogColumnStat) found.get()).toPlanStat(name, fields[i].dataType());
            columns.put(org.apache.spark.sql.connector.expressions.FieldReference.column(name), new Column(column));
        }
    }
    public OptionalLong sizeInBytes() { return OptionalLong.of(known.sizeInBytes().toLong()); }
    public OptionalLong numRows() { return count(known.rowCount()); }
    public java.util.Map columnStats() { return columns; }
    static OptionalLong count(scala.Option value) {
        return value.isEmpty() ? OptionalLong.empty() : OptionalLong.of(((scala.math.BigInt) value.get()).toLong());
    }
}
class Column implements org.apache.spark.sql.connector.read.colstats.ColumnStatistics {
    private final ColumnStat known;
    Column(ColumnStat known) { this.known = known; }
    public OptionalLong distinctCount() { return Estimate.count(known.distinctCount()); }
    public OptionalLong nullCount() { return Estimate.count(known.nullCount()); }
    public Optional min() { return scala.jdk.javaapi.OptionConverters.toJava(known.min()); }
    public Optional max() { return scala.jdk.javaapi.OptionConverters.toJava(known.max()); }
}
class RuleOfOthers extends Rule {
    private final Rule rule;
    public RuleOfOthers(Rule rule) { this.rule = rule; }
    public TreeNode apply(TreeNode plan) {
        if (!hasMerge((LogicalPlan) plan)) return rule.apply(plan);
        java.util.ArrayList children = new java.util.ArrayList();
        scala.collection.Iterator each = plan.children().iterator();
        while (each.hasNext()) children.add(apply((TreeNode) each.next()));
        return plan.withNewChildren(scala.jdk.javaapi.CollectionConverters.asScala(children).toSeq());
    }
    private boolean hasMerge(LogicalPlan plan) {
        if (plan instanceof MergeIntoTable && isProxy(((MergeIntoTable) plan).targetTable())) return true;
        scala.collection.Iterator children = plan.children().iterator();
        while (children.hasNext()) {
            if (hasMerge((LogicalPlan) children.next())) return true;
        }
        return false;
    }
    private boolean isProxy(LogicalPlan target) {
        LogicalPlan leaf = (LogicalPlan) target.collectLeaves().head();
        return leaf instanceof org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
            && java.lang.reflect.Proxy.isProxyClass(
                ((org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation) leaf).table().getClass());
    }
}
"""


def new_strategy(jvm: Jvm, planned: object | None) -> Any:
    """Return a strategy of the planner for statements that change rows. Only classes of the JVM can be strategies.

    Args:
        jvm: The session's JVM.
        planned: A java.util.function.Function from a statement to its physical plan; None for one of other tables.
    """
    lang = jvm.view.java.lang
    given = jvm.array(lang.Object, [None])
    lang.reflect.Array.set(given, 0, planned)
    return _constructor(jvm.view).newInstance(given)


def rule_of_others(jvm: Jvm, rule: Any) -> Any:
    """Return a rule of the analyzer that applies another one, but to MERGE of installed tables only inside of them.

    Args:
        jvm: The session's JVM.
        rule: The other rule.
    """
    return _functions(jvm).ruleOfOthers(rule)


def of_zone(jvm: Jvm, expressions: Iterable[Any], zone: str) -> list[Any]:
    """Return the Catalyst expressions whose values in this time zone are those that they have in Spark.

    An expression keeps the session's time zone from when it was analysed, which is that of the view or SQL function in
    which it stands. # Spark 4.1, ResolveTimeZone, TimeZoneAwareExpression

    Args:
        jvm: The session's JVM.
        expressions: The expressions, resolved.
        zone: The time zone, as the session names it.
    """
    found = list(expressions)
    return [each for each in found if not _functions(jvm).hasOtherZone(each, zone)] if found else []


def renamed(jvm: Jvm, expression: Any, names: Mapping[str, str]) -> Any:
    """Return a resolved Catalyst expression with other names of its columns.

    Args:
        jvm: The session's JVM.
        expression: The expression.
        names: New names by the ids of columns.
    """
    return _functions(jvm).renamed(expression, jvm.map(names))


def v2_statistics(jvm: Jvm, known: Any, schema: Any) -> Any:
    """Return statistics of Spark's connectors. Those of a class of this process would be a request for each value.

    Args:
        jvm: The session's JVM.
        known: A CatalogStatistics.
        schema: The columns, as a schema of the JVM.
    """
    return _functions(jvm).statistics(known, schema)


@lru_cache(1)
def _functions(jvm: Jvm) -> Any:
    return new_strategy(jvm, None)


@lru_cache(1)
def _constructor(view: Any) -> Any:
    """The constructor of the class. A JVM has one class of this name, since py4j remembers methods by names."""
    compiler = view.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(view.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(_JAVA)
    [constructor] = compiler.getClassLoader().loadClass("deltaskip.RowStatements").getConstructors()
    return constructor
