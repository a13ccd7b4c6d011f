"""The cluster's topics, as the groups of this node see them."""

from collections.abc import Callable, Collection, Iterable

from barnabas.groups.modern.topics import TopicMetadata
from barnabas.metadata.image import MetadataImage, TopicImage


class TopicsView:
    """Counts changes that matter for assignments; a new leader or replica is none."""

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image
        self._known: dict[str, TopicMetadata] = {}
        self.version = 0

    def changed(self, topic: TopicImage) -> None:
        """A topic is new, or something about it has changed."""
        now = _metadata(topic)
        if self._known.get(topic.name) != now:
            self._known[topic.name] = now
            self.version += 1

    def removed(self, names: Iterable[str]) -> None:
        for name in names:
            self._known.pop(name, None)
        self.version += 1

    def by_name(self, name: str) -> TopicMetadata | None:
        topic = self._image().topics.get(name)
        return None if topic is None else _metadata(topic)

    def by_id(self, topic_id: bytes) -> TopicMetadata | None:
        topic = self._image().topics_by_id.get(topic_id)
        return None if topic is None else _metadata(topic)

    def names(self) -> Collection[str]:
        return self._image().topics

    def racks_of(self, topic_id: bytes, index: int) -> frozenset[str]:
        """Of all replicas, in sync or not: assignments outlive a restart of a node."""
        image = self._image()
        topic = image.topics_by_id.get(topic_id)
        if topic is None or index >= len(topic.partitions):
            return frozenset()
        brokers = (image.brokers.get(each) for each in topic.partitions[index].replicas)
        return frozenset(each.rack for each in brokers if each is not None and each.rack)


def _metadata(topic: TopicImage) -> TopicMetadata:
    return TopicMetadata(topic.name, topic.topic_id, len(topic.partitions))
