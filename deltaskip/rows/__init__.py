"""What new rows must satisfy and become: store assignment, schema merge, rules, generated and identity columns."""

from deltaskip.rows.identity import Identity, IdentityBlock, identity_of
from deltaskip.rows.plan import PlannedColumn, RowPlan, SchemaMode, plan_rows
from deltaskip.rows.rules import Rule

__all__ = [
    "Identity",
    "IdentityBlock",
    "PlannedColumn",
    "RowPlan",
    "Rule",
    "SchemaMode",
    "identity_of",
    "plan_rows",
]
