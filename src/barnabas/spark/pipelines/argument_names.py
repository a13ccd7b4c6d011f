"""Further arguments of sources and sinks, which are options of what reads or writes.

A misspelled argument would be taken for an option and have no effect, so unknown names are refused.
The options of Spark's file formats are not all known; there, only names that resemble an argument
are refused.
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any

from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.kafka_settings import PREFIX
from barnabas.spark.sink.options import WRITE_OPTIONS, sink_options
from barnabas.spark.source.options import READ_OPTIONS, batch_options, stream_options

_SURELY_MEANT = 0.8
_PERHAPS_MEANT = 0.6
_SOMEWHERE = {"kafka.bootstrap.servers": "localhost:9092"}
"""Completes the options for validation; nothing is connected."""


def read_options(
    function: Callable[..., object],
    topic: str,
    starting_offsets: str,
    given: Mapping[str, Any],
    *,
    pattern: bool = False,
) -> dict[str, str]:
    """Options for a stream of a topic, or of topics by a pattern, from further arguments."""
    options = _known(function, READ_OPTIONS.values(), given)
    topics = {"subscribePattern" if pattern else "subscribe": topic}
    stream_options({**_SOMEWHERE, **topics, "startingOffsets": starting_offsets, **options})
    return options


def table_options(
    function: Callable[..., object], topic: str, given: Mapping[str, Any]
) -> dict[str, str]:
    """Options for reading all of a topic."""
    options = _known(function, READ_OPTIONS.values(), given)
    batch_options({**_SOMEWHERE, "subscribe": topic, **options})
    return options


def write_options(
    function: Callable[..., object], exactly_once: bool, given: Mapping[str, Any]
) -> dict[str, str]:
    """Options for writing to a topic."""
    options = _known(function, WRITE_OPTIONS.values(), given)
    guarantee = {"deliveryGuarantee": "exactly-once"} if exactly_once else {}
    sink_options({**_SOMEWHERE, **options, **guarantee}, streaming=True)
    return options


def only_options(
    function: Callable[..., object], known: Iterable[str], given: Mapping[str, Any]
) -> dict[str, str]:
    """Options of a sink or source that takes only these."""
    return _known(function, known, given)


def file_options(function: Callable[..., object], given: Mapping[str, Any]) -> dict[str, str]:
    """Options of a Spark file format, whose names only Spark knows."""
    options = option_texts(given)
    for name in options:
        _refuse_if_like(name, _arguments(function), _SURELY_MEANT)
    return options


def option_texts(options: Mapping[str, Any]) -> dict[str, str]:
    """Options as Spark takes them: with dots in their names, and as texts."""
    return {
        name.replace("__", "."): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
    }


def _known(
    function: Callable[..., object], known: Iterable[str], given: Mapping[str, Any]
) -> dict[str, str]:
    """The options, if all are known; settings of Kafka clients are checked with their values."""
    options = option_texts(given)
    names = list(known)
    lower = {name.lower() for name in names}
    for name in options:
        if name.lower() not in lower and not name.lower().startswith(PREFIX):
            _refuse_if_like(name, [*_arguments(function), *names], _PERHAPS_MEANT)
            raise InvalidArgument(f"unknown argument or option {name!r}")
    return options


def _arguments(function: Callable[..., object]) -> list[str]:
    parameters = signature(function).parameters.values()
    return [each.name for each in parameters if each.kind is not Parameter.VAR_KEYWORD]


def _refuse_if_like(name: str, known: Iterable[str], cutoff: float) -> None:
    by_lower = {each.lower(): each for each in known}
    like = get_close_matches(name.lower(), by_lower, 1, cutoff)
    if like:
        raise InvalidArgument(f"no argument {name!r}: did you mean {by_lower[like[0]]}?")
