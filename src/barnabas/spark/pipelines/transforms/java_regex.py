"""Regular expressions of Java, which Spark runs; mistakes that Python sees too are found early."""

import re

from barnabas.spark.pipelines.transforms.transform_settings import TransformSettings

_ONLY_JAVA = re.compile(r"\\p\{|&&|\\[QEGRXhv]|[*+?}]\+|\(\?<[A-Za-z]")
"""What Java has and Python lacks: such a pattern is left to Spark."""


def java_pattern(settings: TransformSettings, name: str) -> str:
    """A setting that is a regular expression; raises `InvalidArgument`."""
    text = settings.text(name)
    if not _ONLY_JAVA.search(text):
        try:
            re.compile(text)
        except re.error as error:
            raise settings.wrong(name, f"{text!r} is not a regular expression: {error}") from None
    return text
