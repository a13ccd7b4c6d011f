"""Dead letters: looked at, sent back to their topics, deleted."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from functools import partial
from heapq import heappush, heapreplace
from http import HTTPStatus
from typing import Any

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.console.answers import ApiError
from barnabas.console.api.parameters import CONFIRM, TOPIC
from barnabas.console.api.search_limit import search_slot
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.console.messages.masking import MASK, Masks
from barnabas.console.messages.positions import bounds_of
from barnabas.console.messages.shown import content
from barnabas.dead_letters.deletion import drop_letters, droppable
from barnabas.dead_letters.letters import Letter, LetterCluster, matches, read_letters
from barnabas.dead_letters.progress import Replayed, group_of, replayed_up_to
from barnabas.dead_letters.replay import replay_letters
from barnabas.errors import NotAuthorized

_PREVIEW = 300
_REASON = 2_000
_LOOKED_AT = 5_000
"""Dead letters of each partition that a list looks at, the newest."""
_MOST_BYTES = 64 * 1024 * 1024
"""Of dead letters that one list reads."""
_EACH = 100
_REPLAY_S = 120
_REASON_IS = Parameter("reason", "string", "Only those whose reason contains this.", "")


async def list_letters(call: Call) -> dict[str, Any]:
    """The newest, with where each record was and why it was given up."""
    topic, reason = call.text("topic"), call.text("reason") or None
    cluster, masks = call.cluster.letters(), Masks(call.options.masks)
    with search_slot(call):
        seen = await _replayed(cluster, topic)
        bounds = await bounds_of(call.cluster.client, topic, None)
        newest = Newest(call.number("limit"))
        is_complete = all(each.end - each.beginning <= _LOOKED_AT for each in bounds.values())
        async with aclosing(read_letters(cluster, topic, newest=_LOOKED_AT)) as letters:
            async for letter in letters:
                if newest.read_bytes > _MOST_BYTES:
                    is_complete = False
                    break
                is_wanted = letter.is_letter and is_asked_for(letter, reason, masks)
                newest.add(letter, partial(shown, letter, masks, seen) if is_wanted else None)
    return {
        "total": newest.total,
        "complete": is_complete,
        "looked_at": _LOOKED_AT,
        "letters": newest.in_order(),
        "group": group_of(topic),
    }


class Newest:
    """The newest of all that are added; of others only their number is kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: list[tuple[int, int, int, dict[str, Any]]] = []
        self.total = 0
        self.read_bytes = 0

    def add(self, letter: Letter, show: Callable[[], dict[str, Any]] | None) -> None:
        """`show` is None for one that is not wanted; it is called for those that are kept."""
        message = letter.message
        self.read_bytes += len(message.value or b"") + len(message.key or b"") + _EACH
        if show is None:
            return
        self.total += 1
        rank = (message.timestamp_ms, message.partition, message.offset)
        if len(self._kept) < self._limit:
            heappush(self._kept, (*rank, show()))
        elif rank > self._kept[0][:3]:
            heapreplace(self._kept, (*rank, show()))

    def in_order(self) -> list[dict[str, Any]]:
        return [each[3] for each in sorted(self._kept, key=lambda one: one[:3], reverse=True)]


async def _replayed(cluster: LetterCluster, topic: str) -> Mapping[TopicPartition, Replayed] | None:
    """None if this user may not see the group that says so."""
    try:
        return await replayed_up_to(cluster, topic)
    except NotAuthorized:
        return None


def is_asked_for(letter: Letter, reason: str | None, masks: Masks) -> bool:
    """A reason that is not shown is not searched either: repeated questions would reveal it."""
    if reason is None:
        return True
    return matches(reason, letter.said) and not masks.cover_record(letter.message)


def shown(
    letter: Letter, masks: Masks, seen: Mapping[TopicPartition, Replayed] | None
) -> dict[str, Any]:
    """A letter by the rules of its topic, and of the topic that the record came from."""
    message, said = masks.apply(letter.message), letter.said
    here, origin = message.topic, said["topic"]
    message = masks.apply(message._replace(topic=origin))._replace(topic=here)
    is_masked = masks.cover(here) or masks.cover(origin)
    where = TopicPartition(here, message.partition)
    return {
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp_ms,
        "origin": {name: said.get(name) for name in ("topic", "partition", "offset")},
        "group": said.get("group"),
        "attempts": said.get("deliveries"),
        "reason": MASK if is_masked else said.get("reason", "")[:_REASON],
        "key": content(message.key, _PREVIEW),
        "value": content(MASK.encode() if masks.cover(origin) else message.value, _PREVIEW),
        "replayed": None if seen is None else seen.get(where, Replayed()).has(message.offset),
    }


async def replay_dead_letters(call: Call) -> dict[str, Any]:
    """Send them back, each once."""
    topic, reason = call.text("topic"), call.text("reason") or None
    if reason is not None and call.options.masks:
        # How many are sent would tell what masked reasons contain.
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            "a console with masks replays all letters of a topic, not those of one reason",
            f"Replay them with barnabas dead-letters replay {topic} --reason, or without a reason.",
        )
    try:
        async with asyncio.timeout(_REPLAY_S):
            replayed = await replay_letters(call.cluster.letters(), topic, reason)
    except TimeoutError:
        raise ApiError(
            HTTPStatus.GATEWAY_TIMEOUT,
            f"not all were sent back within {_REPLAY_S} seconds",
            "Try again: what was sent back is not sent twice.",
        ) from None
    call.cluster.watch.changed()
    return {
        "sent": dict(sorted(replayed.sent.items())),
        "left": replayed.left,
        "uncertain": [
            {"partition": where.partition, "first": first, "last": last}
            for where, (first, last) in replayed.uncertain
        ],
    }


async def drop_dead_letters(call: Call) -> dict[str, Any]:
    topic = call.text("topic")
    if call.text("confirm") != topic:
        raise ApiError(
            HTTPStatus.BAD_REQUEST, "what was typed is not the topic's name", f"Type {topic}."
        )
    cluster = call.cluster.letters()
    found = await droppable(cluster, topic, replayed=call.flag("replayed"))
    if found.letters:
        await drop_letters(cluster, found.before)
    return {"deleted": found.letters, "kept": found.kept}


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/dead-letters",
        "Dead letters of a topic, the newest first.",
        list_letters,
        (
            TOPIC,
            _REASON_IS,
            Parameter("limit", "integer", "At most so many.", 100, minimum=1, maximum=1000),
        ),
    ),
    Endpoint(
        "POST",
        "/api/dead-letters/replay",
        "Send dead letters back to their topics, each once.",
        replay_dead_letters,
        body=(TOPIC, _REASON_IS),
        changes=True,
    ),
    Endpoint(
        "POST",
        "/api/dead-letters/drop",
        "Delete dead letters for good.",
        drop_dead_letters,
        body=(
            TOPIC,
            Parameter("replayed", "boolean", "Only those that were sent back.", default=False),
            CONFIRM,
        ),
        changes=True,
    ),
)
