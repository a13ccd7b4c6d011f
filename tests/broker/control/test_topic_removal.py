"""What a node does, in order, when a topic is deleted."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from barnabas.broker.node import Node
from barnabas.metadata.image import TopicImage


def test_coordinators_forget_topics_apart_from_their_partitions() -> None:
    """These take a while: a new topic of that name may have committed offsets meanwhile."""
    done: list[str] = []

    def delete_topic(name: str, topic_id: bytes) -> Iterator[int]:
        for index in range(2):
            done.append(f"{name}-{index}")
            yield 1

    def coordinator(kind: str) -> Any:
        return SimpleNamespace(topics_deleted=lambda names: done.append(f"{kind} {[*names]}"))

    node: Any = SimpleNamespace(
        topic_metadata=SimpleNamespace(changed=lambda name: None),
        partitions=SimpleNamespace(delete_topic=delete_topic),
        groups=coordinator("groups"),
        transactions=coordinator("transactions"),
        share_coordinator=coordinator("share groups"),
    )
    topic = TopicImage("t", bytes(16))
    Node._topics_removed(node, [topic])
    assert done == [
        f"groups {[bytes(16)]}",
        "transactions ['t']",
        f"share groups {[bytes(16)]}",
    ]
    assert list(Node._topic_removed(node, topic)) == [1, 1]
    assert done[3:] == ["t-0", "t-1"]
