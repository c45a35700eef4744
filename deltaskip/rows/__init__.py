"""Rules and values of new rows: store assignment, schema merge, constraints, generated and identity columns."""

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
