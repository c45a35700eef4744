"""Checkpoints and metadata trees: reading of their adds and small actions, and writing of their rows.

`write.kept_state` and `write._file_actions` decide which actions a checkpoint keeps, and `tombstones` which removes:
neither commitInfo nor cdc, nor what has expired.
"""
