"""Predicate nodes: the expressions of a WHERE clause, before and after binding.

Literals have values of the package's value domain: None, bool, int, float (the widened double), Decimal at the type's
scale, str, bytes, date = days since 1970-01-01, timestamp = microseconds since the epoch in UTC, timestamp_ntz =
microseconds of local time. An array is a tuple of its elements, a struct of the values of its fields in their order, a
map of pairs of key and value, and a variant of its two binaries, value and metadata.
Nodes are immutable and hashable; passes are functions that `match` on them. A tree may have any number of levels: a
function that calls itself is `deep`, and what is asked of the same node many times is `kept`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, TypeVar

from deltaskip.records import dataclass, nested
from deltaskip.recursion import deep
from deltaskip.sparkexpr.types.data_types import DataType

if TYPE_CHECKING:
    from deltaskip.sparkexpr.values.key_tuples import KeyTuples

MIRRORED = {"=": "=", "!=": "!=", "<=>": "<=>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The operator that compares exchanged operands: `a < b` is `b > a`."""
NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""The operator of a negated comparison: NOT (a < b) is a >= b. `<=>` has no negation."""
# Trees with more nodes become Opaque: few objects make a large tree if each level uses a part twice. Literals do not
# count.
MAX_NODES = 1_000_000
_FEW_COLUMNS = 64
_FEW_LEVELS = 100
ARITHMETIC = ("+", "-", "*", "/", "%", "div")
BITWISE = ("&", "|", "^")
PADDED = "padded()"
"""The function that pads a string with blanks to a number of characters, and never shortens it."""


T = TypeVar("T")


class Node:
    """Base class of predicate nodes."""

    __slots__ = ("_hash", "_known")
    _hash: int
    _known: dict[Callable[[Any], object], object]

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: object) -> Node:
        return self


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant. `value` is in the value domain of `type`; None is the NULL of that type."""

    value: object
    type: DataType


@dataclass(frozen=True, slots=True)
class Column(Node):
    """A column as written, before it is resolved, with one part for each name."""

    parts: tuple[str, ...]


class UncollatedColumn(Column):
    """A column whose strings, unless they have a collation, are compared as literals are, see FieldRef."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FieldRef(Node):
    """A resolved column of the table, with its exact logical and physical path.

    `nullable` includes every ancestor; `partition` marks a partition column, whose value is in the log; `collation` is
    the field's `__COLLATIONS` entry as written, None for UTF8_BINARY and for types other than string; `is_plain` says
    that a comparison considers its collation as little as a literal's.
    """

    logical: tuple[str, ...]
    physical: tuple[str, ...]
    type: DataType
    nullable: bool = True
    partition: bool = False
    collation: str | None = None
    is_plain: bool = False

    def __hash__(self) -> int:
        # The path identifies the column. A predicate with thousands of leaves is hashed once for each leaf.
        return hash(self.logical)


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """`left op right`, op a key of MIRRORED. `<=>` is never NULL."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class And(Node):
    """All of `children`, in three-valued logic; at least two."""

    children: tuple[Node, ...]


class Between(And):
    """`x BETWEEN low AND high`, the comparisons `x >= low` and `x <= high`: Spark computes x once, under another name.

    Spark therefore compares char(n) differently (expr.padding). Binding replaces it by And.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Or(Node):
    """Any of `children`, in three-valued logic; at least two."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not(Node):
    """The negation of `child`; NULL stays NULL."""

    child: Node


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """`child IS NULL`; never NULL itself."""

    child: Node


@dataclass(frozen=True, slots=True)
class In(Node):
    """`child IN (values)`: TRUE on a match, else NULL if the child or a value is NULL, else FALSE; FALSE for no values.

    values: A tuple, or a LiteralList, whose literals are not children (expr.literal_list).
    """

    child: Node
    values: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Among(Node):
    """Whether the values of `children` together are one of the keys of a join: NULL if one of them is, else no NULL.

    Binding leaves `children` as they are given: they have the types of the keys.
    """

    children: tuple[Node, ...]
    keys: KeyTuples


class Deferred(Node):
    """A condition that depends on the table: a scan replaces it by `condition` before it binds the predicate."""

    __slots__ = ()

    def condition(self, snapshot: Any, time_zone: str, ansi: bool) -> Node:
        """Return the condition over the columns of a snapshot, not bound."""
        raise TypeError(f"{type(self).__name__} has no condition.")


@dataclass(frozen=True, slots=True)
class Like(Node):
    """`child LIKE pattern ESCAPE escape`; `case_insensitive` is ILIKE."""

    child: Node
    pattern: Node
    escape: str = "\\"
    case_insensitive: bool = False


@dataclass(frozen=True, slots=True)
class StartsWith(Node):
    """`startswith(child, prefix)`."""

    child: Node
    prefix: Node


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """`CAST(child AS type)` under ANSI; `safe` is TRY_CAST: NULL instead of an error."""

    child: Node
    type: DataType
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of a function by its lower-case name, of an ARITHMETIC or BITWISE operator, or of unary "negative" or "~".

    `type` is the result type after binding; None before, and for functions that deltaskip does not know.
    """

    name: str
    args: tuple[Node, ...]
    type: DataType | None = None


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """`(names) -> body`, an argument of a function, which evaluates the body for elements.

    Binding gives each variable a type, and a name that no enclosing or nested lambda function uses.
    """

    names: tuple[str, ...]
    body: Node


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """A variable of a lambda function: an element, a key or a value. Binding gives it a type."""

    name: str
    type: DataType | None = None
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Case(Node):
    """The value of the first branch whose condition is TRUE, else `otherwise` (NULL if absent)."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None = None


@dataclass(frozen=True, slots=True)
class Collate(Node):
    """`child COLLATE collation`: the same string under another collation."""

    child: Node
    collation: str


@dataclass(frozen=True, slots=True)
class Opaque(Node):
    """SQL that no other node represents; it proves nothing. `columns` are the known columns that it names."""

    sql: str
    columns: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class UnprintableExpression(Opaque):
    """An expression of an engine that has no SQL text, such as a Python function. `sql` describes it."""


@dataclass(frozen=True, slots=True)
class SessionExpression(Opaque):
    """An expression that a Spark session understands otherwise than deltaskip. `why` names what the session has set."""

    why: str = ""


def children_of(node: Node) -> tuple[Node, ...]:
    """Direct children of `node`, in the order of its fields."""
    children = _CHILDREN.get(node.__class__)
    return () if children is None else children(node)


def _listed(node: Any) -> tuple[Node, ...]:
    return (node.child, *node.values) if isinstance(node.values, tuple) else (node.child,)


def _branches(node: Any) -> tuple[Node, ...]:
    flat = tuple([part for branch in node.branches for part in branch])
    return flat if node.otherwise is None else (*flat, node.otherwise)


def _one(name: str) -> Callable[[Any], tuple[Node, ...]]:
    get = attrgetter(name)
    return lambda node: (get(node),)


# Keyed by class for speed: passes visit thousands of nodes many times. Other classes have no children.
_CHILDREN: dict[type[Node], Callable[[Any], tuple[Node, ...]]] = {
    Compare: attrgetter("left", "right"),
    **dict.fromkeys((And, Between, Or, Among), attrgetter("children")),
    **dict.fromkeys((Not, IsNull, Cast, Collate), _one("child")),
    In: _listed,
    Like: attrgetter("child", "pattern"),
    StartsWith: attrgetter("child", "prefix"),
    Call: attrgetter("args"),
    Lambda: _one("body"),
    Case: _branches,
}


def transform(node: Node, change: Callable[[Node], Node]) -> Node:
    """`node` with each direct child replaced by `change(child)`; the same object if nothing changes."""
    old = children_of(node)
    if not old:
        return node
    new = tuple([change(child) for child in old])
    if all(map(is_, old, new)):
        return node
    match node:
        case Compare(op):
            return Compare(op, *new)
        case Between():
            return Between(new)
        case And():
            return And(new)
        case Or():
            return Or(new)
        case Not():
            return Not(*new)
        case IsNull():
            return IsNull(*new)
        case In(_, values):
            return In(new[0], new[1:] if isinstance(values, tuple) else values)
        case Among(_, keys):
            return Among(new, keys)
        case Like(_, _, escape, case_insensitive):
            return Like(new[0], new[1], escape, case_insensitive)
        case StartsWith():
            return StartsWith(*new)
        case Cast(_, type_, safe):
            return Cast(new[0], type_, safe)
        case Call(name, _, type_):
            return Call(name, new, type_)
        case Lambda(names):
            return Lambda(names, *new)
        case Case(branches, _):
            pairs = tuple((new[2 * i], new[2 * i + 1]) for i in range(len(branches)))
            return Case(pairs, new[-1] if len(new) > 2 * len(branches) else None)
        case Collate(_, collation):
            return Collate(new[0], collation)
        case _:
            return node


@deep
def with_node_replaced(node: Node, old: Node, new: Node) -> Node:
    """Return `node` with every part that is equal to `old` replaced by `new`."""
    return new if node == old else transform(node, lambda child: with_node_replaced(child, old, new))


def walk(node: Node) -> Iterator[Node]:
    """`node` and all its descendants, parents first."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(children_of(current)))


def operations(node: Node) -> Iterator[Node]:
    """`node` and all its descendants except literals, parents first."""
    pending = [node]
    while pending:
        part = pending.pop()
        yield part
        pending += [child for child in children_of(part) if not isinstance(child, Literal)]


def is_null_constant(node: Node) -> bool:
    """Whether a node is the constant NULL."""
    return isinstance(node, Literal) and node.value is None


def _is_small(node: Node, size: int) -> bool:
    """Whether the tree has few levels and at most `size` nodes, also if each part is counted wherever it occurs."""
    level = [node]
    for _ in range(_FEW_LEVELS):
        below: list[Node] = []
        for part in level:
            below += [child for child in children_of(part) if not isinstance(child, (Literal, Column))]
            if len(below) > size:
                return False
        level, size = below, size - len(below)
        if not level:
            return True
    return False


def is_too_large(node: Node, size: int = MAX_NODES) -> bool:
    """Whether the tree has more than `size` nodes other than literals and columns.

    A part that occurs in many places counts in each of them, and is visited once, unless the tree is small.
    """
    if _is_small(node, size - 1):
        return False
    # The nodes of each part, by identity; parts are finished after their children.
    known: dict[int, int] = {}
    pending: list[tuple[Node, tuple[Node, ...] | None]] = [(node, None)]
    while pending:
        part, children = pending.pop()
        if children is None:
            if id(part) in known:
                continue
            children = tuple([child for child in children_of(part) if not isinstance(child, (Literal, Column))])
            if children:
                pending.append((part, children))
                pending.extend([(child, None) for child in children])
                continue
        nodes = 1 + sum([known[id(child)] for child in children])
        if nodes > size:
            return True
        known[id(part)] = nodes
    return False


def kept(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """Return a function of a node that computes each result once, and keeps it in the node."""
    computed = deep(function)

    def found(node: Node) -> T:
        try:
            known = node._known
        except AttributeError:
            known = {}
            object.__setattr__(node, "_known", known)
        if computed in known:
            return known[computed]  # type: ignore[return-value]
        result = known[computed] = computed(node)
        return result

    return found


@dataclass(frozen=True, slots=True)
class _Place(Node):
    """Stands for a child in a flattened tree: its index."""

    index: int


def _flattened(node: Node) -> list[Any]:
    """The parts of a tree, children first: a leaf, or class and field values, with a _Place for each child."""
    found: list[Any] = []
    places: dict[int, _Place] = {}
    pending: list[tuple[Node, bool]] = [(node, False)]
    while pending:
        part, has_children = pending.pop()
        if has_children:
            shell = transform(part, lambda child: places[id(child)])
            found.append((part.__class__, tuple([getattr(shell, each.name) for each in fields(shell)])))  # type: ignore[arg-type]
        elif id(part) in places:
            continue
        elif part.__class__ in _CHILDREN:
            pending.append((part, True))
            pending.extend([(child, False) for child in children_of(part)])
            continue
        else:
            found.append(part)
        places[id(part)] = _Place(len(found) - 1)
    return found


def _rebuilt(parts: list[Any]) -> Node:
    """The tree of the parts of `_flattened`."""
    made: list[Node] = []

    def part_at(place: Any) -> Node:
        found: Node = made[place.index]
        return found

    for part in parts:
        if isinstance(part, tuple):
            kind, values = part
            part = transform(kind(*values), part_at)
        made.append(part)
    return made[-1]


def _reduced(node: Any) -> tuple[Any, ...]:
    return _rebuilt, (_flattened(node),)


for _kind in _CHILDREN:
    if _kind is not Between:
        nested(_kind).__reduce__ = _reduced  # type: ignore[method-assign, assignment]


def columns_of(node: Node) -> tuple[tuple[str, ...], ...]:
    """Logical paths of the columns in `node` (as written before binding), each once, in order of appearance."""
    found: dict[tuple[str, ...], None] = {}
    # A part that is used twice at every level is visited once.
    seen: set[int] = set()
    pending = [node]
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        match part:
            case Column(parts):
                found[parts] = None
            case FieldRef(logical):
                found[logical] = None
            case Opaque(_, columns):
                found.update(dict.fromkeys(columns))
        pending.extend(child for child in reversed(children_of(part)) if not isinstance(child, Literal))
    return tuple(found)


def few_columns(node: Node) -> frozenset[str] | None:
    """The top-level columns, and the variables of lambda functions, in a bound `node`; None if they may be many."""
    match node:
        case FieldRef(logical):
            return frozenset(logical[:1])
        case Variable(name):
            return frozenset((name,))
        case Opaque():
            return None
        case _:
            return _few_columns(node)


@kept
def _few_columns(node: Node) -> frozenset[str] | None:
    found = frozenset[str]()
    for child in children_of(node):
        if not isinstance(child, Literal):
            names = few_columns(child)
            if names is None:
                return None
            if not names <= found:
                found |= names
    return found if len(found) <= _FEW_COLUMNS else None


def top_level_columns(node: Node) -> set[str]:
    """The top-level columns that contain the columns in `node`."""
    return {path[0] for path in columns_of(node)}
