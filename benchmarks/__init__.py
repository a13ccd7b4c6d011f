"""Measurements of the broker; `python -m benchmarks --help`."""
