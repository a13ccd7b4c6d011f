"""Errors in the code of pipelines, in a line with file and line number."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.errors.pipeline_error import PipelineError

_MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


@contextmanager
def user_code(file: Path | None) -> Iterator[None]:
    """Run the user's code; its exceptions become errors with their place in this file.

    Errors of Barnabas and of Spark keep their messages.
    """
    try:
        yield
    except InvalidArgument as error:
        raise InvalidArgument(f"{_place(error, file)}: {error}") from error
    except (BarnabasError, PySparkException):
        raise
    except _MISTAKES as error:
        raise PipelineError(f"{_place(error, file)}: {type(error).__name__}: {error}") from error


def _place(error: BaseException, file: Path | None) -> str:
    """The file, with the innermost of its lines that has led to the error."""
    if file is None:
        return "in a pipeline"
    if isinstance(error, SyntaxError):
        return str(file)  # its message has the line
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename) == file and frame.lineno is not None
    ]
    return f"{file}:{lines[-1]}" if lines else str(file)
