"""What ShareFetch and ShareAcknowledge share: acknowledgements, and where partitions are led."""

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.replica.leadership import leader_error, partition_image
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.share.share_partitions import SharePartitions
from barnabas.broker.share.share_sessions import Place, ShareSessions
from barnabas.metadata.image import MetadataImage
from barnabas.share.acknowledgement import Acknowledgement, Refusal, check_acknowledgements
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode

TELLS_LEADER = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


class Needs(Protocol):
    """What these handlers ask of the node."""

    authorization: Authorization
    cluster: ClusterView
    image: MetadataImage
    lifecycle: BrokerLifecycle
    loop: AbstractEventLoop
    partitions: Partitions
    share_partitions: SharePartitions
    share_sessions: ShareSessions


class AcknowledgementBatch(Protocol):
    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


@dataclass(slots=True)
class Outcomes:
    """What became of the acknowledgements of a request, by partition."""

    errors: dict[Place, Refusal] = field(default_factory=dict)
    """Those that are decided; NONE is one too."""
    pending: list[Future[ErrorCode]] = field(default_factory=list)

    def settled(self, loop: AbstractEventLoop) -> "Future[None] | None":
        """Done when all are decided; None if they are."""
        left = [each for each in self.pending if not each.done()]
        if not left:
            return None
        all_done: Future[None] = loop.create_future()
        waiting = len(left)

        def one_is_done(_: object) -> None:
            nonlocal waiting
            waiting -= 1
            if not waiting and not all_done.done():
                all_done.set_result(None)

        for each in left:
            each.add_done_callback(one_is_done)
        return all_done


def find_led(node: Needs, place: Place, may_read: Callable[[bytes], bool]) -> Partition | ErrorCode:
    """The partition, if it is led here, and the client may read it."""
    topic_id, index = place
    if topic_id not in node.image.topics_by_id:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not may_read(topic_id):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    found = node.partitions.find(topic_id, index)
    error = leader_error(found, -1)
    if error is not ErrorCode.NONE or isinstance(found, ErrorCode):
        return error
    if node.lifecycle.is_cut_off:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER  # another node may lead by now
    return found


def reader_rights(node: Needs, context: RequestContext, api: str) -> Callable[[bytes], bool]:
    """Whether the client may READ the topic with an id."""
    access = node.authorization.of(context.connection, api)
    if access.is_full:
        return lambda _: True
    known: dict[bytes, bool] = {}

    def may_read(topic_id: bytes) -> bool:
        allowed = known.get(topic_id)
        if allowed is None:
            topic = node.image.topics_by_id.get(topic_id)
            allowed = topic is not None and access.topic(AclOperation.READ, topic.name)
            known[topic_id] = allowed
        return allowed

    return may_read


def acknowledge(
    node: Needs,
    group_id: str,
    member_id: str,
    asked: Iterable[tuple[Place, Sequence[AcknowledgementBatch]]],
    may_read: Callable[[bytes], bool],
    *,
    is_renewal: bool,
) -> Outcomes:
    """Take the acknowledgements of each partition: all of them, or none."""
    outcomes = Outcomes()
    for place, batches in asked:
        if place in outcomes.errors:
            outcomes.errors[place] = Refusal(
                ErrorCode.INVALID_REQUEST, "the partition is in the request twice"
            )
            continue
        acknowledgements = [
            Acknowledgement(each.first_offset, each.last_offset, each.acknowledge_types)
            for each in batches
        ]
        outcome = _acknowledge(
            node, group_id, member_id, place, acknowledgements, may_read, is_renewal=is_renewal
        )
        outcomes.errors[place] = _NONE
        if isinstance(outcome, Refusal):
            outcomes.errors[place] = outcome
        elif outcome is not None:
            _follow(outcomes, place, outcome)
    return outcomes


_NONE = Refusal(ErrorCode.NONE, "")


def _follow(outcomes: Outcomes, place: Place, stored: "Future[ErrorCode]") -> None:
    def settle(done: "Future[ErrorCode]") -> None:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if done.cancelled() else done.result()
        if error is not ErrorCode.NONE:
            outcomes.errors[place] = Refusal(error, "the acknowledgement was not stored")

    stored.add_done_callback(settle)
    outcomes.pending.append(stored)


def _acknowledge(
    node: Needs,
    group_id: str,
    member_id: str,
    place: Place,
    acknowledgements: list[Acknowledgement],
    may_read: Callable[[bytes], bool],
    *,
    is_renewal: bool,
) -> "Refusal | Future[ErrorCode] | None":
    refusal = check_acknowledgements(acknowledgements, is_renewal=is_renewal)
    if refusal is not None:
        return refusal
    found = find_led(node, place, may_read)
    if isinstance(found, ErrorCode):
        return Refusal(found, "")
    led = node.share_partitions.get(group_id, *place)
    if led is None or led.partition is not found:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no records are acquired here")
    return led.acknowledge(member_id, acknowledgements)


def leader_of(node: Needs, place: Place) -> tuple[int, int] | None:
    """The id and epoch of the leader."""
    image = partition_image(node.image, *place)
    return None if image is None else (image.leader, image.leader_epoch)
