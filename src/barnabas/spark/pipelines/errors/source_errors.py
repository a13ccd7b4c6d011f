"""Errors in the description of a source, with the part that they are in.

Spark reports a syntax error at a position, but not in which text.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.errors.pipeline_error import PipelineError


class SourceError(PipelineError):
    """A part of a source's description is wrong; `source_named` adds the source."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"{part}: {reason}")
        self.part = part
        self.reason = reason


@contextmanager
def part_of_source(part: str) -> Iterator[None]:
    """Turn errors into errors of this part."""
    try:
        yield
    except PySparkException as error:
        raise SourceError(part, reason_of(error)) from error
    except InvalidArgument as error:
        raise SourceError(part, str(error)) from error


@contextmanager
def source_named(name: str, pipeline: str) -> Iterator[None]:
    """Add the names of source and pipeline to an error."""
    try:
        yield
    except SourceError as error:
        raise PipelineError(
            f"pipeline {pipeline}: {error.part} of source {name}: {error.reason}"
        ) from error
