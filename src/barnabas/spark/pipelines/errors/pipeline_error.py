"""The error of pipelines, in a module that needs no PySpark."""

from barnabas.errors import BarnabasError


class PipelineError(BarnabasError):
    """A pipeline can't be run, or can't continue."""
