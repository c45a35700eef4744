"""Facts about functions that restrict the values of their arguments: one value or function a row."""
