"""Under which subject the schemas of a topic are, by Confluent's strategies."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from barnabas.errors import InvalidArgument

Part: TypeAlias = Literal["key", "value"]
SubjectName: TypeAlias = Literal["topic", "record", "topic-record"]
SubjectOf: TypeAlias = Callable[[str, Part, str | None], str]
"""Topic, part and full name of the record to a subject."""


def subject_of(strategy: SubjectName | SubjectOf) -> SubjectOf:
    """Raises `InvalidArgument`."""
    if callable(strategy):
        return strategy
    if strategy not in _STRATEGIES:
        raise InvalidArgument(
            f"subjects={strategy!r}: use {', '.join(map(repr, _STRATEGIES))}, or a function of "
            "topic, part and record name"
        )
    return _STRATEGIES[strategy]


def _by_topic(topic: str, part: Part, _: str | None) -> str:
    return f"{topic}-{part}"


def _by_record(_: str, part: Part, record: str | None) -> str:
    return _named(part, record)


def _by_topic_and_record(topic: str, part: Part, record: str | None) -> str:
    return f"{topic}-{_named(part, record)}"


def _named(part: Part, record: str | None) -> str:
    if record is None:
        raise InvalidArgument(
            f'the {part} has no name of a record, which subjects="record" needs: give {part}=MODEL'
        )
    return record


_STRATEGIES: dict[str, SubjectOf] = {
    "topic": _by_topic,
    "record": _by_record,
    "topic-record": _by_topic_and_record,
}
