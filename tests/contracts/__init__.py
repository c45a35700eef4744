"""What append, overwrite, delete, update, merge, change feed and optimize must do, once for every way to do them.

`doors.py` has the ways, `tables.py` the tables and the model of their rows, `steps.py` what is done to each table, and
`play.py` plays the steps.
"""
