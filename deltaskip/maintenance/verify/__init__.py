"""Verification of tables: rules of the protocol over the log and the data files, and the repair of violations."""
