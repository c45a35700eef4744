"""Planning a scan by Spark jobs: the files to read as a DataFrame, which the driver never holds."""
