"""Spark Connect and declarative pipelines: clients of a Spark that is another process."""
