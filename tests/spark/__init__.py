"""The data source for Spark. Tests that need a session share one, and so run in one process."""
