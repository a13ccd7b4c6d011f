"""Several errors as one, with a line for each."""

from collections.abc import Sequence

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.errors.pipeline_error import PipelineError


def raise_all(errors: Sequence[BarnabasError]) -> None:
    """Raise them as one, if there are any."""
    if len(errors) == 1:
        raise errors[0]
    if not errors:
        return
    lines = dict.fromkeys(str(each) for each in errors)
    text = "\n".join([f"{len(lines)} errors:", *(f"  {each}" for each in lines)])
    of_usage = all(isinstance(each, InvalidArgument) for each in errors)
    raise InvalidArgument(text) if of_usage else PipelineError(text)
