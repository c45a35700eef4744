"""Which faults a module can have: one small change of its text each, at a place that its syntax tree gives."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_OPPOSITE: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_BOUND: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_SWAPPED: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*"}
# Functions of Arrow whose result stands for another one: NULLs and bounds are what engines get wrong.
_OTHER_CALL = {
    "and_kleene": "and_", "or_kleene": "or_", "is_null": "is_valid", "is_valid": "is_null", "less": "less_equal",
    "less_equal": "less", "greater": "greater_equal", "greater_equal": "greater", "equal": "not_equal",
    "not_equal": "equal", "any": "all", "all": "any", "min": "max", "max": "min", "is_true": "is_not_false",
    "is_not_false": "is_true", "fill_null": None, "drop_null": None, "invert": None, "sorted": "list",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one place of a file."""

    path: str
    line: int
    kind: str
    start: int
    end: int
    text: str

    def applied_to(self, source: bytes) -> bytes:
        """The source with the change in it."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def is_python(self, source: bytes) -> bool:
        """Whether the changed source can be compiled."""
        try:
            ast.parse(self.applied_to(source))
        except SyntaxError:
            return False
        return True

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.text[:60]!r}"


def mutants_of(root: Path, path: Path) -> list[Mutant]:
    """Every fault that a module can have, in the order of its text.

    Args:
        root: The folder that names are relative to.
        path: A Python module.
    """
    source = path.read_bytes()
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    name = str(path.relative_to(root))
    return [Mutant(name, node.lineno, *change) for node, *change in _changes(tree, source, starts)]


_Change = tuple[ast.expr | ast.stmt, str, int, int, str]


def _changes(tree: ast.Module, source: bytes, starts: list[int]) -> Iterator[_Change]:
    def at(node: ast.AST) -> tuple[int, int]:
        return (
            starts[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
            starts[node.end_lineno - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )

    def text(node: ast.AST) -> str:
        start, end = at(node)
        return source[start:end].decode()

    for node in _inside_functions(tree):
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                for kind, table in (("comparison", _OPPOSITE), ("bound", _BOUND)):
                    if type(op) in table:
                        yield node, kind, *at(node), f"{text(left)} {table[type(op)]} {text(right)}"
            case ast.BoolOp(op=op, values=[_, *rest] as values):
                word, other = (" and ", " or ") if isinstance(op, ast.And) else (" or ", " and ")
                yield node, "condition", *at(node), "(" + word.join(f"({text(each)})" for each in rest) + ")"
                yield node, "operator", *at(node), "(" + other.join(f"({text(each)})" for each in values) + ")"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, "negation", *at(node), f"({text(operand)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SWAPPED:
                if not any(
                    isinstance(each, (ast.JoinedStr, ast.Constant)) and _is_text(each) for each in (left, right)
                ):
                    yield node, "arithmetic", *at(node), f"{text(left)} {_SWAPPED[type(op)]} {text(right)}"
            case ast.Constant(value=bool(value)):
                yield node, "constant", *at(node), str(not value)
            case ast.Constant(value=int(value)):
                yield node, "constant", *at(node), str(value + 1)
            case ast.If(test=test):
                yield node, "branch", *at(test), "False"
            case ast.IfExp(body=body, orelse=other):
                yield node, "branch", *at(node), f"({text(other)})"
                yield node, "branch", *at(node), f"({text(body)})"
            case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
                yield node, "statement", *at(node), "pass"
            case ast.Call(func=ast.Attribute(value=owner, attr=name) as function, args=args) if name in _OTHER_CALL:
                if other := _OTHER_CALL[name]:
                    yield node, "call", *at(function), f"{text(owner)}.{other}"
                elif args:
                    yield node, "call", *at(node), text(args[0])
            case ast.Call(func=ast.Name(id=name) as function) if _OTHER_CALL.get(name):
                yield node, "call", *at(function), str(_OTHER_CALL[name])


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), (str, bytes))


def _inside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of function bodies, without annotations, docstrings and what only type checkers run."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            nested = [node for node in ast.walk(function) if node is not function]
            inner = {id(each) for node in nested if isinstance(node, ast.FunctionDef) for each in ast.walk(node)}
            for statement in function.body:
                for node in ast.walk(statement):
                    if id(node) not in inner and not isinstance(node, ast.arg):
                        yield node
