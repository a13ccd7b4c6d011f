"""A fetch of very many partitions, in slices: other requests are served in between."""

from asyncio import Task, sleep, wait
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from barnabas.broker.fetch.fetch_session import NO_REPLICA_ID, FetchSession
from barnabas.broker.handlers.fetch_steps import (
    Needs,
    add_answers,
    add_partitions,
    committed_only,
    find,
    finish,
    forget_partitions,
    is_cut_off,
    room,
    throttled,
)
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import SLICE, Slicer
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse, FetchTopic

_SLICE = 250
"""Partitions that are read in one slice, at some ten microseconds each."""
_TURNS_UNTIL_WRITTEN = 3
"""Turns of the event loop from the end of a task to the write of its answer, at most."""

ItemT = TypeVar("ItemT")


def is_large(
    node: Needs, session: FetchSession, request: FetchRequest, *, everything: bool
) -> bool:
    """Whether the request names or reads more partitions than one slice has."""
    named = 0
    for topic in request.topics:
        named += len(topic.partitions)
    everything = everything or session.committed_only != committed_only(request)
    return has_many(node, session, named, everything=everything)


def has_many(node: Needs, session: FetchSession, named: int = 0, *, everything: bool) -> bool:
    if named + len(session.entries) <= _SLICE:
        return False
    everything = everything or is_cut_off(node, session)
    return named + session.count_to_read(everything=everything) > _SLICE


def begin(
    node: Needs, session: FetchSession, slices: Coroutine[Any, Any, FetchResponse]
) -> Task[FetchResponse]:
    """Start to handle a request in slices; later requests of the session wait for its end."""
    task = node.loop.create_task(slices)
    session.under_way.add(task)
    task.add_done_callback(session.under_way.discard)
    return task


def fetch_in_slices(
    node: Needs,
    session: FetchSession,
    request: FetchRequest,
    context: RequestContext,
    *,
    everything: bool,
) -> Coroutine[Any, Any, FetchResponse]:
    """A fetch of very many partitions, in slices; other requests are served in between."""
    epoch = session.epoch
    earlier = tuple(session.under_way)

    async def slices() -> FetchResponse:
        if earlier:
            await wait(earlier)
        try:
            await _update_in_slices(node, session, request, context.version)
            min_bytes = max(0, request.min_bytes)
            if request.max_wait_ms > 0 and not await _is_satisfied(session, min_bytes):
                if session.epoch == epoch:
                    await session.wait(node.loop, min_bytes, request.max_wait_ms)
                if session.epoch != epoch:
                    return FetchResponse(session_id=session.session_id)
            return await answer_in_slices(node, session, request, context, everything=everything)
        finally:
            if not session.session_id:
                session.close()

    return slices()


async def _is_satisfied(session: FetchSession, min_bytes: int) -> bool:
    """What there is in each partition is looked up in slices, and kept."""
    if min_bytes > 1:
        session.watch()
        available = 0
        for some in _batched(session.to_read(everything=False), _SLICE):
            available += sum(session.available_bytes(each) for each in some if each.has_records)
            if available >= min_bytes:
                break
            await sleep(0)
    return session.is_satisfied(min_bytes)


async def _update_in_slices(
    node: Needs, session: FetchSession, request: FetchRequest, version: int
) -> None:
    session.isolate(committed_only=committed_only(request))
    await _find_lost_in_slices(node, session)
    taken = 0
    for topic in request.topics:
        for few in _batched(topic.partitions, _SLICE):
            part = FetchTopic(topic.topic, topic.topic_id, few)
            add_partitions(node, session, request, part, version)
            taken += len(few)
            if taken >= _SLICE:
                taken = 0
                await sleep(0)
    forget_partitions(session, request, version)
    if session.session_id and session.replica_id == NO_REPLICA_ID:
        node.fetch_sessions.make_room(session)


async def _find_lost_in_slices(node: Needs, session: FetchSession) -> None:
    for some in _batched(session.lost(), _SLICE):
        for entry in some:
            session.found(entry, find(node, session, entry.key))
        await sleep(0)


def _batched(items: Sequence[ItemT], size: int) -> Iterator[list[ItemT]]:
    for first in range(0, len(items), size):
        yield list(items[first : first + size])


async def answer_in_slices(
    node: Needs,
    session: FetchSession,
    request: FetchRequest,
    context: RequestContext,
    *,
    everything: bool,
) -> FetchResponse:
    quota = context.quota
    if quota is not None and quota.is_fetch_throttled():
        return throttled(node, session, everything=everything)
    cut_off = is_cut_off(node, session)
    everything = everything or cut_off
    await _find_lost_in_slices(node, session)
    answers = []
    unread = node.connections.unread
    size = 0
    try:
        for entries in _batched(session.to_read(everything=everything), _SLICE):
            # Other fetches read between the slices. What each has read is reserved, so that
            # together they stay within the limit.
            max_bytes, min_one = room(node, session, request, context, size)
            read = session.read(
                max_bytes, everything=everything, min_one=min_one and not size, entries=entries
            )
            answers += read
            more = sum(len(data.records) for _, data in read if data.records)
            size += more
            unread.reserved += more
            await sleep(0)
        response = FetchResponse(session_id=session.session_id)
        failed = False
        for some in _batched(answers, SLICE):
            failed |= add_answers(response, some)
            await sleep(0)
        finish(node, response, context, answers, failed=failed, cut_off=cut_off)
        slicer = Slicer(context.version)
        for answered in response.responses:
            parts = answered.partitions
            for at, data in enumerate(parts):
                if not data.records:  # those are sent as they are, without a copy
                    parts[at] = slicer.part(data)
                if slicer.is_due():
                    await sleep(0)
        return response
    finally:
        if size:
            _release(node, size, _TURNS_UNTIL_WRITTEN)


def _release(node: Needs, size: int, turns: int) -> None:
    """End the reservation of an answer after some turns of the event loop."""
    if turns:
        node.loop.call_soon(_release, node, size, turns - 1)
    else:
        node.connections.unread.reserved -= size
