"""Skips row groups that do not contain the values that a predicate seeks, by the Bloom filters of the files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.skipping import program
from deltaskip.skipping.evaluate import PartitionEvaluator
from deltaskip.skipping.sought_values import Sought, SoughtValues
from deltaskip.stats.bloom_filters import Stored, has_filter, may_contain, stored_as
from deltaskip.stats.footer import Footer, FooterColumn

MOST_SOUGHT = 256
"""A filter reports one in 20 to 100 missing values as present, so it seldom excludes a longer list."""


def filtered_groups(
    sought: SoughtValues,
    source: pa.NativeFile,
    footer: Footer,
    plans: Sequence[FooterColumn],
    groups: npt.NDArray[np.int64],
    statistics: program.Statistics,
    partitions: PartitionEvaluator,
) -> npt.NDArray[np.bool_] | None:
    """Return the row groups that can contain matching rows; None if the file has no filter that could tell.

    Args:
        sought: The predicate, with the values that it seeks.
        source: The file, open for reading.
        footer: Its footer.
        plans: The columns of the predicate in it.
        groups: Indexes of the row groups that statistics do not rule out.
        statistics: Their statistics, and those of the others.
        partitions: As for `keep_mask`.
    """
    by_column = {plan.column.physical: plan for plan in plans}
    asked: list[tuple[int, int, list[bytes]]] = []
    owner: list[tuple[Sought, int]] = []
    for each in sought.every:
        plan = by_column.get(each.field.physical)
        stored = None if plan is None else _stored(plan, each)
        if plan is None or not plan.nodes or stored is None:
            continue
        leaf = plan.nodes[-1].first_leaf
        values = [data for value in each.listed() if (data := stored(value)) is not None]
        for group in groups.tolist():
            if has_filter(footer, group, leaf):
                asked.append((group, leaf, values))
                owner.append((each, group))
    if not asked:
        return None
    masks = {id(each): np.ones(len(footer.row_groups), np.bool_) for each in sought.every}
    for (each, group), there in zip(owner, may_contain(source, footer, asked).tolist(), strict=True):
        masks[id(each)][group] = there
    return sought.evaluated(masks, statistics, partitions)


def _stored(plan: FooterColumn, sought: Sought) -> Stored | None:
    """The function that converts values to the stored form; None if the file may store them differently."""
    if not plan.nodes or not plan.nodes[-1].is_leaf or any(node.is_repeated for node in plan.nodes):
        return None
    if plan.not_before is not None and any(int(value) < plan.not_before for value in sought.listed()):
        return None
    return stored_as(plan.nodes[-1], plan.column.type)
