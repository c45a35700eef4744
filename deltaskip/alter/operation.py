"""The name and parameters of an alteration in the table's history, as delta-spark writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltaskip.alter.state import Step

__all__ = ["MIXED", "operation_of"]

MIXED = "ALTER TABLE"
"""The operation of changes of several kinds in one commit; delta-spark has no statement for them."""


def operation_of(steps: Sequence[Step]) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the parameters of the operation that makes these changes."""
    names = {step.operation for step in steps}
    if len(names) != 1:
        changes = [{"operation": step.operation, **_readable(step.parameters)} for step in steps]
        return MIXED, {"changes": changes}
    [name], parameters = names, [step.parameters for step in steps]
    match name:
        case "ADD COLUMNS":
            return name, {"columns": parameters}
        case "DROP COLUMNS":
            return name, {"columns": [each["column"] for each in parameters]}
        case "CHANGE COLUMN" if len({each["column"]["name"] for each in parameters}) > 1:
            return "CHANGE COLUMNS", {"columns": [each["column"] for each in parameters]}
        case "CHANGE COLUMN":
            # The last description of the column has all changes.
            return name, {key: value for each in parameters for key, value in each.items()}
        case "SET TBLPROPERTIES":
            return name, {"properties": dict(each["property"] for each in parameters)}
        case "UNSET TBLPROPERTIES":
            return name, {"properties": [each["property"] for each in parameters], "ifExists": True}
        case "UPGRADE PROTOCOL":
            return name, parameters[-1]
        case _ if len(parameters) == 1:
            return name, parameters[0]
        case _:
            changes = [{"operation": name, **_readable(each)} for each in parameters]
            return MIXED, {"changes": changes}


def _readable(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with a property's name and value as an object."""
    found = dict(parameters)
    if isinstance(found.get("property"), tuple):
        found["property"] = dict([found["property"]])
    return found
