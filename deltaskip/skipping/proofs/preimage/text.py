"""Steps of strings: prefixes, and constants before or after (see functions)."""

from __future__ import annotations

from collections.abc import Sequence

from deltaskip.expr.coerce import type_of
from deltaskip.expr.nodes import Call, Literal, Node
from deltaskip.schema.types import STRING
from deltaskip.skipping.proofs.preimage.functions import Invertible, Prefix, Prepend, Step
from deltaskip.skipping.proofs.preimage.value_sets import Domain, domain_of

__all__ = ["text_call"]

_TEXTS = domain_of(STRING) or Domain(b"", b"\xff")


def text_call(call: Call) -> tuple[Node, tuple[Step, ...]] | None:
    """Return the operand and the steps, outermost first, of a call on a string and constants; None for other calls."""
    if call.type != STRING:
        return None
    match call:
        case Call("left", (operand, Literal(int() as length))) if length > 0:
            return operand, (Prefix(_TEXTS, length),)
        case Call("substring", (operand, Literal(0 | 1), Literal(int() as length))) if length > 0:
            return operand, (Prefix(_TEXTS, length),)
        case Call("substring", (operand, Literal(0 | 1))):
            return operand, ()
        case Call("concat", args):
            return _concat(args)
    return None


def _concat(args: Sequence[Node]) -> tuple[Node, tuple[Step, ...]] | None:
    """Constants around one operand: those after it first, as they are the outer function."""
    others = [i for i, arg in enumerate(args) if not isinstance(arg, Literal)]
    if len(others) != 1 or type_of(args[others[0]]) != STRING:
        return None
    texts = [arg.value if isinstance(arg, Literal) else "" for arg in args]
    before, behind = texts[: others[0]], texts[others[0] + 1 :]
    if not all(isinstance(text, str) for text in (*before, *behind)):
        return None
    tail = "".join(map(str, behind)).encode()
    steps: list[Step] = []
    if tail:
        steps.append(Invertible(_TEXTS, _TEXTS, lambda text: text[: -len(tail)] if text.endswith(tail) else None))
    steps.append(Prepend(_TEXTS, "".join(map(str, before)).encode()))
    return args[others[0]], tuple(steps)
