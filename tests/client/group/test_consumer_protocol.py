"""What group members say to each other is understood by other clients, and theirs by us."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from barnabas.errors import ProtocolMismatch
from barnabas.wire.messages.consumer_protocol import ConsumerProtocolSubscription, OwnedPartition
from barnabas.wire.primitives import INT16, Writer

topics = st.lists(st.text("abc.-", min_size=1, max_size=6), unique=True)


@given(topics)
def test_subscriptions_come_back(names: list[str]) -> None:
    assert decode_subscription(encode_subscription(names)) == sorted(names)


@given(st.sets(st.builds(TopicPartition, st.text("ab", min_size=1), st.integers(0, 99))))
def test_assignments_come_back(partitions: set[TopicPartition]) -> None:
    assert sorted(decode_assignment(encode_assignment(partitions))) == sorted(partitions)


def test_the_bytes_are_those_of_version_0() -> None:
    assert encode_subscription(["b", "a"]) == bytes.fromhex("0000 00000002 000161 000162 ffffffff")
    assert encode_assignment([TopicPartition("a", 5)]) == bytes.fromhex(
        "0000 00000001 000161 00000001 00000005 ffffffff"
    )


@pytest.mark.parametrize("version", [1, 2, 3, 9])
def test_newer_subscriptions_are_understood(version: int) -> None:
    message = ConsumerProtocolSubscription(topics=["t"])
    if version >= 1:
        message.owned_partitions = [OwnedPartition("t", [1])]
    w = Writer()
    w.buffer += INT16.pack(version)
    message.encode(w, min(version, 3))
    assert decode_subscription(b"".join(w.chunks())) == ["t"]


def test_a_member_without_partitions_may_get_no_bytes() -> None:
    assert decode_assignment(b"") == []


@given(st.binary(max_size=40))
def test_nonsense_is_refused_and_nothing_worse(data: bytes) -> None:
    for decode in (decode_subscription, decode_assignment):
        with suppress(ProtocolMismatch):
            decode(data)
