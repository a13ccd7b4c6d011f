"""Forged heartbeats of the consumer protocol are refused, and others are served meanwhile."""

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.broker.raw_client import RawClient
from tests.broker.verbs import find_coordinator
from tests.conftest import MakeBroker
from tests.hostile.onlooker import MB, Onlooker

TOPICS = 39_000
_ROUNDS = 5
_SERVED_WITHIN_S = 2.0
_VERSION = 1


def _beat(
    client: RawClient, member_id: str, epoch: int, **fields: object
) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id=member_id, member_epoch=epoch, **fields
    )  # type: ignore[arg-type]
    return client.ask(request, _VERSION)


def _join(client: RawClient, member_id: str, topics: list[str]) -> ConsumerGroupHeartbeatResponse:
    return _beat(
        client,
        member_id,
        0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=topics,
        topic_partitions=[],
    )


def test_forged_heartbeats_change_nothing_for_others(make_broker: MakeBroker) -> None:
    broker = make_broker()
    with (
        RawClient(broker.host, broker.port) as honest,
        RawClient(broker.host, broker.port) as attacker,
    ):
        find_coordinator(honest, "g")
        joined = _join(honest, "honest", ["t"])
        assert joined.error_code == ErrorCode.NONE
        epoch = joined.member_epoch
        with Onlooker(broker) as onlooker:
            for number in range(_ROUNDS):
                many = [f"topic-{number}-{each}" for each in range(TOPICS)]
                refused = _join(attacker, f"attacker-{number}", many)
                assert refused.error_code == ErrorCode.INVALID_REQUEST, refused
            for forged in (epoch + 1, epoch + 100, 2**31 - 1):
                answer = _beat(attacker, "honest", forged)
                assert answer.error_code == ErrorCode.FENCED_MEMBER_EPOCH
            assert _beat(attacker, "stranger", 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
            assert _beat(attacker, "x" * 30_000, 1).error_code == ErrorCode.INVALID_REQUEST
            assert _beat(attacker, "honest", -3).error_code == ErrorCode.INVALID_REQUEST
            foreign = [TopicPartitions(bytes(15) + b"x", list(range(10_000)))]
            _beat(attacker, "honest", epoch, topic_partitions=foreign)
        assert onlooker.longest_wait_s < _SERVED_WITHIN_S
        assert onlooker.grown < 100 * MB
        after = _beat(honest, "honest", epoch)
        assert after.error_code == ErrorCode.NONE
        assert after.member_epoch == epoch
