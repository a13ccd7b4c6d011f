"""What a node does, in order, when a topic is deleted."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from barnabas.broker.node import Node
from barnabas.metadata.image import MetadataImage, TopicImage
from barnabas.wire.messages.metadata_records import TopicRecord


def coordinator(kind: str, done: list[str]) -> Any:
    return SimpleNamespace(topics_deleted=lambda names: done.append(f"{kind} {[*names]}"))


def test_coordinators_forget_topics_apart_from_their_partitions() -> None:
    """These take a while: a new topic of that name may have committed offsets meanwhile."""
    done: list[str] = []

    def delete_topic(name: str, topic_id: bytes) -> Iterator[int]:
        for index in range(2):
            done.append(f"{name}-{index}")
            yield 1

    node: Any = SimpleNamespace(
        topic_metadata=SimpleNamespace(changed=lambda name: None),
        partitions=SimpleNamespace(delete_topic=delete_topic),
        image=MetadataImage(),
        groups=coordinator("groups", done),
        transactions=coordinator("transactions", done),
        share_coordinator=coordinator("share groups", done),
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


def test_a_transaction_ends_in_a_topic_that_was_created_again_meanwhile() -> None:
    """The node has learned of both at once: the transaction may have begun in the new topic, which
    would be read no further without its marker."""
    done: list[str] = []
    image = MetadataImage()
    image.replay(TopicRecord("t", bytes([1] * 16)))
    node: Any = SimpleNamespace(
        image=image,
        groups=coordinator("groups", done),
        transactions=coordinator("transactions", done),
        share_coordinator=coordinator("share groups", done),
    )
    Node._topics_removed(node, [TopicImage("t", bytes(16)), TopicImage("u", bytes([2] * 16))])
    assert done[1] == "transactions ['u']"
