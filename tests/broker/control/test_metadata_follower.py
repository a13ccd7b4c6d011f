"""What follows from what is agreed: in its order, a slice at a time, and nothing too early."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from barnabas.broker.control.metadata_follower import Followers, MetadataFollower
from barnabas.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage, TopicImage
from barnabas.metadata.records import MetadataRecord
from barnabas.wire.messages.metadata_records import (
    AccessControlEntryRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from tests.support.wait import LIMIT_S

A, B = b"a" * 16, b"b" * 16


def created(name: str, topic_id: bytes, partitions: int = 1) -> list[MetadataRecord]:
    return [
        TopicRecord(name, topic_id),
        *(PartitionRecord(n, topic_id, [1], [1], leader=1) for n in range(partitions)),
    ]


class Followed:
    """A follower, and what it has had done."""

    def __init__(self, *, held: bool = False) -> None:
        self.done: list[Any] = []
        self.failures: list[str] = []
        self.forgotten: list[bytes] = []
        self.removals = 0
        self.levels: list[int] = []
        self.credentials: list[list[str] | None] = []
        self.image = MetadataImage()
        self.broken: Exception | None = None
        self.follower = MetadataFollower(
            asyncio.get_running_loop(),
            self.image,
            Followers(
                self.topic_changed,
                lambda topics: self.forgotten.extend(topic.topic_id for topic in topics),
                self.topic_removed,
                lambda name: self.done.append(("reconfigured", name)),
                lambda: self.done.append("broker reconfigured"),
                lambda: self.done.append("brokers"),
                lambda acls: self.done.append(["rules", *acls]),
                lambda acl, added: self.done.append((acl, "added" if added else "removed")),
                lambda names: self.credentials.append(None if names is None else sorted(names)),
                lambda: self.done.append("quotas"),
                lambda: self.done.append("client metrics"),
                lambda: self.levels.append(self.image.features.metadata_version),
                self.failures.append,
            ),
        )
        if not held:
            self.follower.release()

    def topic_changed(self, topic: TopicImage, indexes: Sequence[int]) -> None:
        if self.broken is not None:
            raise self.broken
        self.done.append((topic.name, list(indexes)))

    def topic_removed(self, topic: TopicImage) -> Iterator[int]:
        self.done.append(("removed", topic.name))
        for _ in topic.partitions[1:]:
            self.removals += 1
            yield 1

    def commit(self, *records: MetadataRecord) -> None:
        self.follower.commit(list(records), self.follower.end_offset + len(records))


def play(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


def test_a_topic_is_forgotten_before_another_of_its_name_is_in_the_image() -> None:
    """Its partitions take their turn. Offsets committed meanwhile are those of the new topic."""

    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("t", A, 500))
        followed.commit(RemoveTopicRecord(A), *created("t", B))
        assert followed.image.topics["t"].topic_id == B
        assert ("removed", "t") not in followed.done
        assert followed.forgotten == [A]
        await followed.follower.in_step()
        assert ("removed", "t") in followed.done
        assert followed.forgotten == [A]

    play(scenario)


def test_a_handful_is_done_on_the_spot_and_in_order() -> None:
    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("a", A, 2), *created("b", B))
        assert followed.done == [("a", [0, 1]), ("b", [0])]
        followed.done.clear()
        followed.commit(
            RegisterBrokerRecord(1),
            PartitionChangeRecord(1, A, leader=2),
            RemoveTopicRecord(A),
            *created("a", b"c" * 16),
        )
        # The old topic goes before the new one of its name comes; who is there comes last.
        assert followed.done == [("removed", "a"), ("a", [0]), "brokers"]
        assert followed.follower.end_offset == 10

    play(scenario)


def test_only_what_has_changed_is_looked_at() -> None:
    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("a", A, 50))
        followed.done.clear()
        followed.commit(*(PartitionChangeRecord(n, A, leader=2) for n in (7, 3, 7)))
        assert followed.done == [("a", [3, 7])]

    play(scenario)


def test_a_large_topic_is_removed_in_slices() -> None:
    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("a", A, 1000))
        await followed.follower.in_step()
        followed.done.clear()
        followed.commit(RemoveTopicRecord(A), *created("a", B))
        assert followed.removals == 50
        seen: list[int] = []
        asyncio.get_running_loop().call_soon(lambda: seen.append(followed.removals))
        await followed.follower.in_step()
        assert seen[0] <= 100, "another task has waited"
        assert followed.removals == 999
        # A new topic of that name comes after it.
        assert followed.done == [("removed", "a"), ("a", [0])]

    play(scenario)


def test_many_are_done_in_slices_between_which_others_have_their_turn() -> None:
    async def scenario() -> None:
        followed = Followed()
        loop = asyncio.get_running_loop()
        followed.commit(*created("a", A, 1000))
        loop.call_soon(followed.done.append, "another task")
        assert followed.done == [("a", list(range(50)))]
        assert len(followed.image.topics["a"].partitions) == 1000, "the image is never behind"
        # What is agreed on meanwhile waits for its turn.
        followed.commit(*created("b", B))
        assert len(followed.done) == 1
        await followed.follower.in_step()
        assert "another task" in followed.done[1:3]
        followed.done.remove("another task")
        covered = [index for name, indexes in followed.done[:-1] for index in indexes]
        assert covered == list(range(1000))
        assert followed.done[-1] == ("b", [0])
        await followed.follower.in_step()

    play(scenario)


def test_a_topic_that_is_removed_before_its_turn_is_not_opened() -> None:
    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("a", A, 1000))
        followed.done.clear()
        followed.commit(RemoveTopicRecord(A))
        await followed.follower.in_step()
        assert followed.done == [("removed", "a")]

    play(scenario)


def test_before_the_node_is_registered_only_the_image_follows() -> None:
    async def scenario() -> None:
        followed = Followed(held=True)
        followed.commit(*created("a", A, 2), *created("b", B))
        followed.commit(RemoveTopicRecord(B))
        assert followed.done == [("removed", "b")]
        assert followed.image.topics.keys() == {"a"}
        followed.follower.release()
        assert followed.done[1:] == [("a", [0, 1])]
        followed.follower.release()
        assert len(followed.done) == 2

    play(scenario)


def test_it_may_be_released_by_what_it_has_done() -> None:
    async def scenario() -> None:
        followed = Followed(held=True)
        followed.commit(*created("a", A))
        followed.follower._followers = replace(
            followed.follower._followers, brokers_changed=followed.follower.release
        )
        followed.commit(RegisterBrokerRecord(1))
        assert followed.done == [("a", [0])]

    play(scenario)


def test_a_snapshot_takes_the_place_of_everything() -> None:
    async def scenario() -> None:
        other = MetadataImage()
        for record in [*created("b", B, 3), RegisterBrokerRecord(1)]:
            other.replay(record)
        followed = Followed()
        followed.commit(*created("a", A), *created("b", B))
        followed.done.clear()
        followed.follower.restore(other.snapshot(), 100)
        assert followed.follower.end_offset == 100
        assert followed.image.topics.keys() == {"b"}
        assert followed.done[0] == "broker reconfigured"
        assert followed.done.index(("removed", "a")) < followed.done.index(("b", [0, 1, 2]))
        assert followed.done[-1] == "brokers"

    play(scenario)


def test_what_was_to_be_done_before_a_snapshot_is_not_done_with_what_it_replaced() -> None:
    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("a", A, 1000))
        old = followed.image.topics["a"]
        seen: list[TopicImage] = []
        followed.follower._followers = replace(
            followed.follower._followers, topic_changed=lambda topic, _: seen.append(topic)
        )
        followed.follower.restore(followed.image.snapshot(), 2000)
        await followed.follower.in_step()
        assert seen
        assert all(topic is followed.image.topics["a"] is not old for topic in seen)

    play(scenario)


def test_access_rules() -> None:
    async def scenario() -> None:
        followed = Followed()
        rule = AccessControlEntryRecord(A, 2, "t", 3, "User:ann", "*", 3, 3)
        followed.commit(rule)
        (acl,) = followed.image.acls.ids
        assert followed.done == [(acl, "added")]
        snapshot = followed.image.snapshot()
        followed.commit(RemoveAccessControlEntryRecord(A))
        assert followed.done == [(acl, "added"), (acl, "removed")]
        followed.follower.restore(snapshot, 100)
        assert ["rules", acl] in followed.done

    play(scenario)


def test_users_and_tokens_whose_credentials_change() -> None:
    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("a", A), DelegationTokenRecord(token_id="new"))
        assert followed.credentials == []
        followed.commit(
            UserScramCredentialRecord("bob", 1, b"salt", b"key", b"key", 4096),
            UserScramCredentialRecord("alice", 2, b"salt", b"key", b"key", 4096),
        )
        followed.commit(RemoveUserScramCredentialRecord("bob", 1))
        followed.commit(RemoveDelegationTokenRecord("new"))
        assert followed.credentials == [["alice", "bob"], ["bob"], ["new"]]
        followed.follower.restore(followed.image.snapshot(), 100)
        assert followed.credentials[3:] == [None], "a snapshot does not say what has changed"

    play(scenario)


def test_levels_of_features_are_looked_at_when_they_change_and_at_the_start() -> None:
    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("a", A))
        assert followed.levels == []
        followed.commit(FeatureLevelRecord("metadata.version", 77))
        assert followed.levels == [77]
        followed.follower.restore(followed.image.snapshot(), 100)
        assert followed.levels == [77, 77]

    play(scenario)


def test_settings() -> None:
    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("a", A), *created("b", B))
        followed.done.clear()
        followed.commit(ConfigRecord(TOPIC_RESOURCE, "a", "retention.ms", "1"))
        assert followed.done == [("reconfigured", "a")]
        followed.done.clear()
        followed.commit(ConfigRecord(BROKER_RESOURCE, "", "log.retention.ms", "1"))
        assert followed.done == [
            "broker reconfigured",
            ("reconfigured", "a"),
            ("reconfigured", "b"),
        ]

    play(scenario)


def test_a_step_that_fails_is_not_passed_over() -> None:
    async def scenario() -> None:
        followed = Followed()
        followed.broken = ValueError("a bug")
        with pytest.raises(ValueError, match="a bug"):
            followed.commit(*created("a", A))
        assert followed.failures == ["what is agreed could not be followed"]

    play(scenario)


def test_whoever_waits_when_the_node_ends_does_not_wait_for_ever() -> None:
    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("a", A, 1000))
        waiting = asyncio.ensure_future(followed.follower.in_step())
        await asyncio.sleep(0)
        done = len(followed.done)
        followed.follower.close()
        await asyncio.wait({waiting}, timeout=LIMIT_S)
        assert waiting.cancelled()
        assert len(followed.done) <= done + 1

    play(scenario)


def test_removals_are_finished_when_the_node_ends() -> None:
    """A directory that is not renamed would be kept as a stray by the next start."""

    async def scenario() -> None:
        followed = Followed()
        followed.commit(*created("a", A, 1000), *created("b", B, 100))
        await followed.follower.in_step()
        followed.done.clear()
        followed.commit(RemoveTopicRecord(A), *created("a", b"c" * 16), RemoveTopicRecord(B))
        assert followed.removals == 50
        followed.follower.close()
        assert followed.removals == 999 + 99
        assert followed.done == [("removed", "a"), ("removed", "b")], "nothing else is begun"
        await asyncio.sleep(0)
        assert followed.removals == 999 + 99

    play(scenario)
