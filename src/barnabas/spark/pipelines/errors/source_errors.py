"""Errors in what is said of a source, with what they are about.

Spark says that there is a syntax error at a position; of which text, only we know.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.errors.user_code import PipelineError


class SourceError(PipelineError):
    """A part of a source's description is wrong; which source it is, others know."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"{part}: {reason}")
        self.part = part
        self.reason = reason


@contextmanager
def part_of_source(part: str) -> Iterator[None]:
    """Let errors of Spark's, and ours, be errors of this part."""
    try:
        yield
    except PySparkException as error:
        raise SourceError(part, reason_of(error)) from error
    except InvalidArgument as error:
        raise SourceError(part, str(error)) from error


@contextmanager
def source_named(name: str, pipeline: str) -> Iterator[None]:
    """Say whose part it is."""
    try:
        yield
    except SourceError as error:
        raise PipelineError(
            f"pipeline {pipeline}: {error.part} of source {name}: {error.reason}"
        ) from error
