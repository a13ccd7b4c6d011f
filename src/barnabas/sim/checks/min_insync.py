"""`min.insync.replicas` of topics of which it changes, as acknowledgements have to obey it.

A lower value counts at once. A higher one counts when every node has had it for a while: until then
a leader may not know of it, or its answer may still be on its way.
"""

from collections.abc import Iterable, MutableMapping

from barnabas.metadata.image import MetadataImage

MIN_ISR = "min.insync.replicas"
_ON_ITS_WAY_US = 3_000_000
"""Longer than any client waits for an answer."""


class MinInsync:
    def __init__(self, values: MutableMapping[str, int]) -> None:
        """`values` by topic are those that count; they change here."""
        self._values = values
        self.topics: set[str] = set()
        """Those of which it changes."""
        self._agreed_since: dict[str, int] = {}

    def learn(self, image: MetadataImage) -> None:
        """The newest metadata."""
        for topic in self.topics:
            if topic in image.topics:
                value = _value(image, topic)
                self._values[topic] = min(value, self._values.get(topic, value))

    def acknowledged(self, topic: str, now_us: int, images: Iterable[MetadataImage]) -> None:
        """A client has got an acknowledgement; `images` is what the nodes know."""
        if topic not in self.topics:
            return
        agreed = min((_value(image, topic) for image in images), default=0)
        if agreed <= self._values[topic]:
            self._agreed_since.pop(topic, None)
        elif now_us - self._agreed_since.setdefault(topic, now_us) > _ON_ITS_WAY_US:
            self._values[topic] = agreed


def _value(image: MetadataImage, topic: str) -> int:
    return int(image.topic_configs(topic).get(MIN_ISR, "1"))
