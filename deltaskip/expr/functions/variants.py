from __future__ import annotations
from collections.abc import Mapping
from deltaskip.expr.functions.function import Row
VARIANTS: Mapping[str, Row] = {}
