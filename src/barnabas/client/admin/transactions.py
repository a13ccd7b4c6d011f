"""Transactions seen from outside: listed, described, and their producers fenced."""

from collections.abc import Collection
from typing import NamedTuple

from barnabas.client.admin.groups import describe_group
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.prepared_transactions import NO_TIMEOUT_MS
from barnabas.client.producer.producer_identity import ProducerIdentity
from barnabas.errors import InvalidArgument
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest

ANY_DURATION = -1
_ONGOING = "Ongoing"  # and not being ended already
_FENCING_TIMEOUT_MS = 60_000


class TransactionListing(NamedTuple):
    """A transactional id in a list, with the node that coordinates it."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


class TransactionDescription(NamedTuple):
    """A transactional id and its transaction, or the last one it had."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int | None
    partitions: list[TopicPartition]

    @property
    def has_timeout(self) -> bool:
        """Whether it is aborted after a timeout; otherwise it stays open until it is ended."""
        return self.timeout_ms != NO_TIMEOUT_MS

    @property
    def is_open(self) -> bool:
        return self.state == "Ongoing" or self.state.startswith("Prepare")


async def list_transactions(
    cluster: ClusterClient,
    *,
    states: Collection[str] = (),
    producer_ids: Collection[int] = (),
    longer_than_ms: int = ANY_DURATION,
) -> list[TransactionListing]:
    """The transactional ids of all coordinators, all of them or those that the filters let pass."""
    request = ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=list(producer_ids),
        duration_filter=longer_than_ms,
    )

    async def attempt() -> list[TransactionListing]:
        listings = []
        for node_id in cluster.brokers:
            response = await (await cluster.connection(node_id)).send(request)
            check(response.error_code, f"transactions of broker {node_id}")
            if response.unknown_state_filters:
                unknown = ", ".join(response.unknown_state_filters)
                raise InvalidArgument(f"no state of a transaction: {unknown}")
            listings += [
                TransactionListing(
                    each.transactional_id, each.producer_id, each.transaction_state, node_id
                )
                for each in response.transaction_states
            ]
        return sorted(listings)

    return await cluster.retrying(attempt)


async def describe_transaction(
    cluster: ClusterClient, transactional_id: str
) -> TransactionDescription:
    """One transactional id. Raises `BrokerError` if there is none of that name."""
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])

    async def attempt() -> TransactionDescription:
        coordinator = await cluster.transaction_coordinator(transactional_id)
        (state,) = (await coordinator.send(request)).transaction_states
        check(state.error_code, f"transactional id {transactional_id}", needs="describe")
        return TransactionDescription(
            state.transactional_id,
            state.transaction_state,
            state.producer_id,
            state.producer_epoch,
            state.transaction_timeout_ms,
            state.transaction_start_time_ms if state.transaction_start_time_ms >= 0 else None,
            sorted(
                TopicPartition(topic.topic, partition)
                for topic in state.topics
                for partition in topic.partitions
            ),
        )

    return await cluster.retrying(attempt)


async def fence_producer(cluster: ClusterClient, transactional_id: str) -> ProducerIdentity:
    """Fence the producer that uses a transactional id, and abort its open transaction.

    Raises `BrokerError` if there is no such id: asking would make it.
    """
    known = await describe_transaction(cluster, transactional_id)
    timeout_ms = known.timeout_ms if known.has_timeout else _FENCING_TIMEOUT_MS
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
    )

    async def attempt() -> ProducerIdentity:
        coordinator = await cluster.transaction_coordinator(transactional_id)
        response = await coordinator.send(request)
        check(response.error_code, f"transactional id {transactional_id}")
        return ProducerIdentity(response.producer_id, response.producer_epoch, transactional=True)

    return await cluster.retrying(attempt)


def is_abandoned(transactional_id: str, prefix: str, members: Collection[str]) -> bool:
    """Whether an id belongs to the prefix, and to none of the members of the group."""
    return transactional_id.startswith(prefix) and not any(
        transactional_id.endswith(f".{each}") for each in members
    )


async def fence_abandoned(cluster: ClusterClient, group_id: str, prefix: str) -> list[str]:
    """Roll back the open transactions of producers that are no longer in the group.

    For services that read as members of a group, and whose transactional ids end with the id of the
    member: an open transaction without its member is nobody's, whatever its timeout. Returns the
    ids. The group is asked after the transactions: an id in that list belongs to a
    member that had joined by then, so one that is missing in the group has left it since, and
    nothing that it still does can be committed there. Taking over the id of a producer that lives
    costs it one transaction, and never doubles or loses a record.
    """
    listed = await list_transactions(cluster, states=[_ONGOING])
    candidates = [
        each.transactional_id for each in listed if each.transactional_id.startswith(prefix)
    ]
    if not candidates:
        return []
    members = {each.member_id for each in (await describe_group(cluster, group_id)).members}
    abandoned = [each for each in candidates if is_abandoned(each, prefix, members)]
    for each in abandoned:
        await fence_producer(cluster, each)
    return abandoned
