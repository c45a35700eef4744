"""OPTIMIZE: rows in fewer files, without deleted rows, and near to rows with similar values. No row changes."""
