"""A cluster for tests: real nodes of this package, started and hurt from Python.

`barnabas.Cluster` is in `cluster.py`, the fixtures are in `pytest_plugin.py`. Nothing is imported
here, so that the plugin costs nothing where it is installed and not used.
"""
