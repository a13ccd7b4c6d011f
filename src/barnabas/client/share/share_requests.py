"""ShareFetch and ShareAcknowledge, from what a member has to say."""

from collections.abc import Iterable, Mapping

from barnabas.client.share.acknowledge_type import AcknowledgedRange, AcknowledgeType, ranges_of
from barnabas.client.share.acknowledgements import PendingAcknowledgement, TakenAcknowledgements
from barnabas.client.share.share_session import SessionStep, SharePartition
from barnabas.wire.messages import share_acknowledge, share_fetch
from barnabas.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from barnabas.wire.messages.share_fetch import ShareFetchRequest

MAX_BYTES = 16 * 1024 * 1024
RECORD_LIMIT = 1
"""The acquire mode with an exact limit on records, which Kafka has since 4.2."""


def fetch_request(
    group_id: str,
    member_id: str,
    step: SessionStep,
    taken: TakenAcknowledgements,
    *,
    max_records: int,
    max_wait_ms: int,
) -> ShareFetchRequest:
    """A fetch that also carries acknowledgements."""
    topics: dict[bytes, list[share_fetch.FetchPartition]] = {}
    for partition in dict.fromkeys([*step.added, *taken]):
        batches = [
            share_fetch.AcknowledgementBatch(*each) for each in _ranges(taken.get(partition, ()))
        ]
        topics.setdefault(partition.topic_id, []).append(
            share_fetch.FetchPartition(partition.partition, batches)
        )
    return ShareFetchRequest(
        group_id=group_id,
        member_id=member_id,
        share_session_epoch=step.epoch,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=MAX_BYTES,
        max_records=max_records,
        batch_size=max_records,
        share_acquire_mode=RECORD_LIMIT,
        topics=[share_fetch.FetchTopic(each, of) for each, of in topics.items()],
        forgotten_topics_data=[
            share_fetch.ForgottenTopic(each, of) for each, of in _by_topic(step.forgotten).items()
        ],
    )


def acknowledge_request(
    group_id: str, member_id: str, epoch: int, taken: TakenAcknowledgements
) -> ShareAcknowledgeRequest:
    """Acknowledgements alone."""
    topics: dict[bytes, list[share_acknowledge.AcknowledgePartition]] = {}
    for partition, acknowledgements in taken.items():
        batches = [
            share_acknowledge.AcknowledgementBatch(*each) for each in _ranges(acknowledgements)
        ]
        topics.setdefault(partition.topic_id, []).append(
            share_acknowledge.AcknowledgePartition(partition.partition, batches)
        )
    return ShareAcknowledgeRequest(
        group_id=group_id,
        member_id=member_id,
        share_session_epoch=epoch,
        is_renew_ack=has_renewal(taken),
        topics=[share_acknowledge.AcknowledgeTopic(each, of) for each, of in topics.items()],
    )


def has_renewal(taken: Mapping[SharePartition, Iterable[PendingAcknowledgement]]) -> bool:
    """Whether a lock is to be renewed, which a request has to announce."""
    return any(each.kind is AcknowledgeType.RENEW for all_of in taken.values() for each in all_of)


def _ranges(acknowledgements: Iterable[PendingAcknowledgement]) -> list[AcknowledgedRange]:
    return ranges_of({each.offset: each.kind for each in acknowledgements})


def _by_topic(partitions: Iterable[SharePartition]) -> dict[bytes, list[int]]:
    topics: dict[bytes, list[int]] = {}
    for each in partitions:
        topics.setdefault(each.topic_id, []).append(each.partition)
    return topics
