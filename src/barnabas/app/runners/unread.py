"""Records that are put back, to be read again later."""

from typing import Protocol

from barnabas.app.ports import Source
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.records.message import Message


async def put_back(source: Source, messages: list[Message]) -> list[TopicPartition]:
    """Have these read again later: their partitions are paused, and go back to the first.

    Going back forgets what is in hand, so nothing may be.
    """
    firsts: dict[TopicPartition, int] = {}
    for each in messages:
        firsts.setdefault(TopicPartition(each.topic, each.partition), each.offset)
    assigned = set(source.assignment)
    for partition, offset in firsts.items():
        if partition in assigned:
            await source.seek(partition, offset)
            await source.pause(partition)
    return [*firsts]


async def read_again(source: Source, messages: list[Message]) -> None:
    """Have these read again at once; nothing is in hand."""
    partitions = set(await put_back(source, messages)) & set(source.assignment)
    if partitions:
        await source.resume(*partitions)


class Pausable(Protocol):
    """A runner, as far as it may be paused."""

    is_paused: bool


async def hold(source: Source, messages: list[Message], runner: Pausable) -> None:
    """Put back what was read while a runner is paused; nothing is in hand."""
    partitions = await put_back(source, messages)
    if not runner.is_paused:  # resumed meanwhile
        await source.resume(*partitions)
