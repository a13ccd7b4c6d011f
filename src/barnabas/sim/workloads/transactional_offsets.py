"""Asking how far a group has read whose offsets are committed in transactions."""

from barnabas.sim.checks.history import Place
from barnabas.sim.checks.transaction_history import TransactionHistory
from barnabas.sim.client import Client, TryAgain
from barnabas.sim.workloads.transaction_errors import check
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

_ONE_GROUP = 7


async def committed_offset(
    client: Client,
    transaction_history: TransactionHistory,
    group: str,
    place: Place,
    *,
    stable: bool = True,
) -> int:
    """The offset to read on from, 0 for none.

    A `stable` one is answered when no transaction can change it any more. Raises `TryAgain`.
    """
    least = (
        transaction_history.known_offset(group, place)
        if stable
        else transaction_history.shown_offset(group, place)
    )
    host = await client.coordinator(group)
    topics = [OffsetFetchRequestTopic(place.topic, [place.partition])]
    request = OffsetFetchRequest(group, topics, require_stable=stable)
    answer = await client.call(host, request, lane=group, max_version=_ONE_GROUP)
    check(ErrorCode(answer.error_code), "OffsetFetch")
    found = answer.topics[0].partitions[0]
    check(ErrorCode(found.error_code), "OffsetFetch")
    offset = max(0, found.committed_offset)
    transaction_history.told_offset(group, place, offset, found.metadata or "", least)
    return offset


async def insist_on_offset(
    client: Client, transaction_history: TransactionHistory, group: str, place: Place
) -> int | None:
    """The same, however long it takes; None if the client is to stop."""
    while not client.is_stopping:
        try:
            return await committed_offset(client, transaction_history, group, place)
        except TryAgain:
            await client.pause(20, 150)
    return None


async def watch_offsets(
    client: Client, transaction_history: TransactionHistory, group: str, places: list[Place]
) -> None:
    """Ask over and over, also for what transactions that go on may change."""
    while not client.is_stopping:
        try:
            await committed_offset(
                client,
                transaction_history,
                group,
                client.random.choice(places),
                stable=client.random.random() < 0.3,
            )
        except TryAgain as error:
            client.simulator.remark("offsets of %s: %s", group, error)
        await client.pause(50, 300)
