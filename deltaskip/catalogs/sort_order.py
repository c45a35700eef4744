"""The order in which the rows of a staged table are written; `deltaskip.rows` writes them in it."""

from deltaskip.data_files.sort_order import SortOrder, sort_order_of

__all__ = ["SortOrder", "sort_order_of"]
