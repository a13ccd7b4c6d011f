"""What pipelines read."""
