"""Recomputation of statistics: the request, the plan, commits, and resuming an interrupted run."""
