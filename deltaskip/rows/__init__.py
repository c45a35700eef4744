"""Rules of rows and the data files that contain them."""
