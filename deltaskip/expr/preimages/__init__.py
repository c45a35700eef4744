"""What is known of functions that restricts the values of their arguments: one value or function a row."""
