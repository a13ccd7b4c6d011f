"""Batches of values as Arrow columns."""
