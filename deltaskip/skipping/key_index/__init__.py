"""The key index: files beside the log that say in which data files a key is. A hint, which can only skip more files."""
