"""Planning of scans by Spark jobs: the files to read are a DataFrame, which the driver does not collect."""
