"""One handler in each framework, and what it costs; see `benchmarks.app`.

These programs run in different environments, so none imports another module but `stopwatch`.
"""
