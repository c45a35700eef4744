"""Rules and values of new rows: store assignment, schema merge, constraints, generated and identity columns."""

from deltaskip.rows.plan import PlannedColumn, RowPlan, SchemaMode, plan_rows
from deltaskip.rows.rules import RowRule

__all__ = ["PlannedColumn", "RowPlan", "RowRule", "SchemaMode", "plan_rows"]
