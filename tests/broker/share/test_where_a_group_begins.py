"""A new share group begins where its settings say, also if this node has not heard of them yet."""

from asyncio import sleep
from dataclasses import replace

import pytest

from barnabas.broker.node import Node
from barnabas.broker.share.share_settings import ShareGroupSettings
from barnabas.wire.errors import ErrorCode
from tests.broker.share.share_client import Member, acquired, begin, loaded, produce


def test_a_setting_that_was_made_just_before_counts(
    local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue sets where its group begins at the controller, and joins: this node may lag."""
    heard = ["latest"]
    known = local_node.share_partitions.settings.of

    def settings_of(group_id: str) -> ShareGroupSettings:
        return replace(known(group_id), auto_offset_reset=heard[0])

    async def catch_up() -> bool:
        await sleep(0)
        heard[0] = "earliest"
        return True

    monkeypatch.setattr(local_node.share_partitions.settings, "of", settings_of)
    monkeypatch.setattr(local_node.share_partitions, "_has_caught_up", catch_up)
    first = produce(local_node, b"a job from before")
    begin(local_node, "lagging", 0)
    member = Member(local_node, "lagging")
    ranges = acquired(member.fetch(0, max_wait_ms=10_000))
    assert ranges
    assert ranges[0][0] <= first
    member.disconnect()


def test_without_the_metadata_it_begins_nowhere(
    local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def catch_up() -> bool:
        return False

    begin(local_node, "cut off", 0)
    with monkeypatch.context() as cut_off:
        cut_off.setattr(local_node.share_partitions, "_has_caught_up", catch_up)
        member = Member(local_node, "cut off")
        answer = member.fetch(0, max_wait_ms=10_000)
        (partition,) = answer.responses[0].partitions
        assert partition.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        member.disconnect()
    member = Member(local_node, "cut off", "again")
    loaded(member, 0)
    stored = produce(local_node, b"a")
    assert acquired(member.fetch(0, max_wait_ms=10_000)) == [(stored, stored, 1)]
    member.disconnect()
