"""Keys and values of the topics that a producer sends to."""

from typing import TYPE_CHECKING, Any, TypeGuard

from barnabas.errors import InvalidArgument
from barnabas.formats.registered.subjects import Part

if TYPE_CHECKING:
    from barnabas.formats.registered.formats import RegistryFormat
    from barnabas.formats.registered.written import TopicWriter

_MAX_TOPICS = 10_000


class TopicEncoder:
    """Encodes keys or values; None is Kafka's null."""

    def __init__(self, chosen: "RegistryFormat[Any]", part: Part, argument: str) -> None:
        self._format = chosen
        self._part: Part = part
        self._argument = argument
        self._topics: dict[str, TopicWriter[Any]] = {}

    def encode(self, topic: str, value: Any) -> bytes | None:
        """Raises `SchemaNotLoadedError`; errors name the argument that chose the format."""
        if value is None:
            return None
        writer = self._topics.get(topic)
        if writer is None:
            writer = self._writer(topic)
        try:
            return writer.encode(value)
        except TypeError as error:
            raise TypeError(f"{self._argument}={self._format!r}: {error}") from error
        except ValueError as error:
            if isinstance(error, InvalidArgument):
                raise
            raise InvalidArgument(f"{self._argument}={self._format!r}: {error}") from error

    def load(self, topic: str) -> None:
        """Ask for the schema of a topic before there is a value. Blocks."""
        self._writer(topic).load()

    def _writer(self, topic: str) -> "TopicWriter[Any]":
        if topic not in self._topics:
            if len(self._topics) >= _MAX_TOPICS:
                self._topics.clear()
            self._topics[topic] = self._format.for_topic(topic, self._part)
        return self._topics[topic]


class TopicEncoders:
    """Keys and values of a producer, of which one at least has a schema in a registry."""

    def __init__(self, key: TopicEncoder | None, value: TopicEncoder | None) -> None:
        self._key = key
        self._value = value

    def encode(self, topic: str, key: Any, value: Any) -> tuple[Any, Any]:
        """What has no schema stays as it is. Raises `SchemaNotLoadedError`."""
        name = key if self._key is None else self._key.encode(topic, key)
        data = value if self._value is None else self._value.encode(topic, value)
        return name, data


def is_by_topic(chosen: object) -> "TypeGuard[RegistryFormat[Any]]":
    """Whether each topic has another schema."""
    return hasattr(chosen, "for_topic")


def topic_encoders(key: object, value: object) -> TopicEncoders | None:
    """None if none of the two formats has schemas by topic."""
    if not is_by_topic(key) and not is_by_topic(value):
        return None
    return TopicEncoders(
        TopicEncoder(key, "key", "key_format") if is_by_topic(key) else None,
        TopicEncoder(value, "value", "value_format") if is_by_topic(value) else None,
    )
