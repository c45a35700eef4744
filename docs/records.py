"""A Griffe extension: Griffe takes the dataclasses of `deltaskip.records` for those of the standard library."""

from __future__ import annotations

from typing import Any

import griffe


class Records(griffe.Extension):
    """Lets `dataclass` stand for that of the standard library in all modules."""

    def on_module_members(self, *, mod: griffe.Module, **_context: Any) -> None:
        """Change what the import of a module points to, before Griffe looks for dataclasses in the package."""
        imported = mod.members.get("dataclass")
        if isinstance(imported, griffe.Alias) and imported.target_path == "deltaskip.records.dataclass":
            imported.target_path = "dataclasses.dataclass"
