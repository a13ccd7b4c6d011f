"""The topics of a cluster that tests change by hand."""

from collections.abc import Collection
from itertools import count

from barnabas.groups.modern.topics import TopicMetadata


class FakeTopics:
    def __init__(self, **partition_counts: int) -> None:
        self.version = 0
        self._ids = count(1)
        self._by_name: dict[str, TopicMetadata] = {}
        for name, partitions in partition_counts.items():
            self.create(name, partitions)

    def create(self, name: str, partitions: int) -> bytes:
        topic_id = next(self._ids).to_bytes(16)
        self._by_name[name] = TopicMetadata(name, topic_id, partitions)
        self.version += 1
        return topic_id

    def grow(self, name: str, partitions: int) -> None:
        self._by_name[name] = self._by_name[name]._replace(partition_count=partitions)
        self.version += 1

    def delete(self, name: str) -> None:
        del self._by_name[name]
        self.version += 1

    def by_name(self, name: str) -> TopicMetadata | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> TopicMetadata | None:
        return next((each for each in self._by_name.values() if each.topic_id == topic_id), None)

    def names(self) -> Collection[str]:
        return self._by_name

    def racks_of(self, _topic_id: bytes, _index: int) -> frozenset[str]:
        return frozenset()
