"""Changes whose first attempt was carried out, and answered too late or not at all."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.client.admin.brokers import unregister_broker
from barnabas.client.admin.delegation_tokens import expire_token
from barnabas.client.admin.groups import delete_groups
from barnabas.client.admin.topics import create_partitions, create_topic, delete_topics
from barnabas.client.admin.users import remove_credentials
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BrokerError, ConnectionLost, TopicExists
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from barnabas.wire.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from barnabas.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from barnabas.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from barnabas.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from tests.client.fake_cluster import FakeCluster, FakeLog
from tests.client.virtual_time import run

LOST = "the connection is lost"
EXPIRY_MS = 1_700_000_000_000
PARTITIONS = 2
"""What the topic has."""


def outcome_of(work: Callable[[ClusterClient], Awaitable[Any]], *codes: int | str) -> Any:
    """What comes of it if attempts are answered with these codes."""
    left = iter(codes)

    def code() -> int:
        found = next(left)
        if isinstance(found, str):
            raise ConnectionLost(found)
        return found

    def created(*_: Any) -> CreateTopicsResponse:
        return CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=code())])

    def grown(*_: Any) -> CreatePartitionsResponse:
        return CreatePartitionsResponse(results=[CreatePartitionsTopicResult("t", code())])

    def deleted(*_: Any) -> DeleteTopicsResponse:
        return DeleteTopicsResponse(responses=[DeletableTopicResult(name="t", error_code=code())])

    done: list[Any] = []

    def group_deleted(*_: Any) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(results=[DeletableGroupResult("g", code())])

    def user_removed(*_: Any) -> AlterUserScramCredentialsResponse:
        return AlterUserScramCredentialsResponse(
            results=[AlterUserScramCredentialsResult("u", code())]
        )

    def unregistered(*_: Any) -> UnregisterBrokerResponse:
        return UnregisterBrokerResponse(error_code=code())

    def expired(*_: Any) -> ExpireDelegationTokenResponse:
        return ExpireDelegationTokenResponse(code(), EXPIRY_MS)

    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 0), p1=FakeLog(0, 0))
        fake.handlers[CreateTopicsRequest] = created
        fake.handlers[CreatePartitionsRequest] = grown
        fake.handlers[DeleteTopicsRequest] = deleted
        fake.handlers[DeleteGroupsRequest] = group_deleted
        fake.handlers[AlterUserScramCredentialsRequest] = user_removed
        fake.handlers[UnregisterBrokerRequest] = unregistered
        fake.handlers[ExpireDelegationTokenRequest] = expired
        async with fake.client() as cluster:
            done.append(await work(cluster))

    run(main())
    assert not list(left), "not all attempts were made"
    return done[0]


@pytest.mark.parametrize("first", [ErrorCode.REQUEST_TIMED_OUT, LOST])
class TestAnAttemptThatMayHaveBeenCarriedOut:
    def test_the_topic_is_there_then(self, first: int | str) -> None:
        def create(cluster: ClusterClient) -> Awaitable[Any]:
            return create_topic(cluster, "t", partitions=PARTITIONS)

        assert outcome_of(create, first, ErrorCode.TOPIC_ALREADY_EXISTS).configs == {}

    def test_a_topic_that_is_another_is_not_taken_for_it(self, first: int | str) -> None:
        def create(cluster: ClusterClient) -> Awaitable[Any]:
            return create_topic(cluster, "t", partitions=PARTITIONS + 1)

        with pytest.raises(TopicExists):
            outcome_of(create, first, ErrorCode.TOPIC_ALREADY_EXISTS)

    def test_the_partitions_are_there_then(self, first: int | str) -> None:
        def grow(cluster: ClusterClient) -> Awaitable[Any]:
            return create_partitions(cluster, "t", PARTITIONS)

        outcome_of(grow, first, ErrorCode.INVALID_PARTITIONS)

    def test_fewer_partitions_are_refused_all_the_same(self, first: int | str) -> None:
        def shrink(cluster: ClusterClient) -> Awaitable[Any]:
            return create_partitions(cluster, "t", PARTITIONS - 1)

        with pytest.raises(BrokerError, match="INVALID_PARTITIONS"):
            outcome_of(shrink, first, ErrorCode.INVALID_PARTITIONS)


def test_a_deletion_that_was_not_answered_finds_nothing_to_delete() -> None:
    def delete(cluster: ClusterClient) -> Awaitable[Any]:
        return delete_topics(cluster, ["t"])

    assert outcome_of(delete, LOST, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) == {"t": None}
    assert outcome_of(delete, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)["t"] is not None


def test_a_group_that_an_unanswered_attempt_has_deleted_is_gone() -> None:
    def delete(cluster: ClusterClient) -> Awaitable[Any]:
        return delete_groups(cluster, ["g"])

    assert outcome_of(delete, LOST, ErrorCode.GROUP_ID_NOT_FOUND) == {"g": None}
    assert outcome_of(delete, ErrorCode.GROUP_ID_NOT_FOUND)["g"] is not None


def remove_user(cluster: ClusterClient) -> Awaitable[Any]:
    return remove_credentials(cluster, "u", ["SCRAM-SHA-256"])


def unregister(cluster: ClusterClient) -> Awaitable[Any]:
    return unregister_broker(cluster, 7)


def expire(cluster: ClusterClient) -> Awaitable[Any]:
    return expire_token(cluster, b"hmac")


@pytest.mark.parametrize(
    ("remove", "gone"),
    [
        (remove_user, ErrorCode.RESOURCE_NOT_FOUND),
        (unregister, ErrorCode.BROKER_ID_NOT_REGISTERED),
        (expire, ErrorCode.DELEGATION_TOKEN_NOT_FOUND),
    ],
)
def test_what_an_unanswered_attempt_has_removed_is_gone(
    remove: Callable[[ClusterClient], Awaitable[Any]], gone: ErrorCode
) -> None:
    outcome_of(remove, LOST, gone)
    outcome_of(remove, ErrorCode.REQUEST_TIMED_OUT, gone)
    with pytest.raises(BrokerError, match=gone.name):
        outcome_of(remove, gone)
    with pytest.raises(BrokerError, match="CLUSTER_AUTHORIZATION_FAILED"):
        outcome_of(remove, LOST, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def test_a_token_that_an_unanswered_attempt_has_ended_expired_before_now() -> None:
    assert outcome_of(expire, 0) == EXPIRY_MS
    assert outcome_of(expire, LOST, ErrorCode.DELEGATION_TOKEN_NOT_FOUND) > EXPIRY_MS


def test_a_topic_that_exists_at_the_first_attempt_is_an_error() -> None:
    def create(cluster: ClusterClient) -> Awaitable[Any]:
        return create_topic(cluster, "t", partitions=PARTITIONS)

    for before in ([], [ErrorCode.NOT_CONTROLLER]):
        with pytest.raises(TopicExists):
            outcome_of(create, *before, ErrorCode.TOPIC_ALREADY_EXISTS)
