"""A class of the JVM that Spark's own compiler makes: what classes of this process cannot be, or would be slow at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from deltaskip.spark.session.jvm import Jvm

_CLASS = "deltaskip.RowStatements"
_JAVA = """
package deltaskip;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.plans.logical.*;
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
    return [each for each in found if not _zones(jvm).hasOtherZone(each, zone)] if found else []


def renamed(jvm: Jvm, expression: Any, names: Mapping[str, str]) -> Any:
    """Return a resolved Catalyst expression with other names of its columns.

    Args:
        jvm: The session's JVM.
        expression: The expression.
        names: New names by the ids of columns.
    """
    return _zones(jvm).renamed(expression, jvm.map(names))


@lru_cache(1)
def _zones(jvm: Jvm) -> Any:
    return new_strategy(jvm, None)


@lru_cache(1)
def _constructor(view: Any) -> Any:
    """The constructor of the class. A JVM has one class of this name, since py4j remembers methods by names."""
    compiler = view.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(view.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(_JAVA)
    [constructor] = compiler.getClassLoader().loadClass(_CLASS).getConstructors()
    return constructor
