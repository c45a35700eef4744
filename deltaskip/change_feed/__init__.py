"""Reading the change data feed: which rows each version of a range inserted, deleted and updated."""
