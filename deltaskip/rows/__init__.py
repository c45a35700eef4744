"""What new rows must satisfy and become: store assignment, schema merge, rules, generated and identity columns."""

from deltaskip.rows.identity import IdentityBlock, IdentityColumn, identity_of
from deltaskip.rows.plan import PlannedColumn, RowPlan, SchemaMode, plan_rows
from deltaskip.rows.rules import RowRule

__all__ = [
    "IdentityBlock",
    "IdentityColumn",
    "PlannedColumn",
    "RowPlan",
    "RowRule",
    "SchemaMode",
    "identity_of",
    "plan_rows",
]
