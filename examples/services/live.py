"""Live updates for browsers: each gets all records as server-sent events.

    barnabas server &
    barnabas topics create updates
    uvicorn examples.services.live:web

A browser opens `new EventSource("/updates")`. When its connection breaks, it opens another one and
names the last event it has: the service reads what it missed from the topic. One that reads too
slowly is dropped, and comes back in the same way.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

import barnabas
from barnabas import Message, TopicPartition
from barnabas.formats import optional

TOPIC = "updates"
WAITING = 1_000  # records that wait for one browser
MISSED = 10_000  # records that one browser may have missed
PING_S = 15.0

Record = Message[bytes | None, str]
Positions = dict[int, int]  # the next offset of each partition

browsers: set[asyncio.Queue[Record]] = set()
positions: Positions = {}


@asynccontextmanager
async def lifespan(app: barnabas.App) -> AsyncIterator[dict[TopicPartition, int]]:
    """Begin at the end, and know where that is: browsers may have seen less."""
    async with barnabas.aio.Admin(app.bootstrap_servers) as admin:
        ends = await admin.offsets(TOPIC)
    positions.update({each.partition: offset for each, offset in ends.items()})
    yield ends


app = barnabas.App(os.environ.get("BARNABAS_BOOTSTRAP", "localhost:9092"), lifespan=lifespan)


@app.handler(TOPIC, group=None, start=lambda: app.state)
async def fan_out(message: Record) -> None:
    positions[message.partition] = message.offset + 1
    for queue in list(browsers):
        if queue.full():
            browsers.discard(queue)  # `follow` ends when it has sent what waits
        else:
            queue.put_nowait(message)


def event(message: Record, seen: Positions) -> str:
    """With all positions as its id, `0:17,1:4`, since a topic has several partitions."""
    seen[message.partition] = message.offset + 1
    places = ",".join(f"{partition}:{offset}" for partition, offset in sorted(seen.items()))
    lines = "".join(f"data: {line}\n" for line in re.split(r"\r\n|\r|\n", message.value))
    return f"id: {places}\n{lines}\n"


async def missed(seen: Positions, until: Positions) -> AsyncIterator[Record]:
    """The records between two positions, from the topic."""
    behind = {each: until[each] for each in until if seen.get(each, until[each]) < until[each]}
    if not behind:
        return
    async with barnabas.aio.Consumer(
        app.bootstrap_servers, key=optional(bytes), value=str, on_data_loss="earliest"
    ) as consumer:
        await consumer.assign({TopicPartition(TOPIC, each): seen[each] for each in behind})
        while any(
            consumer.position(TopicPartition(TOPIC, each)) < end for each, end in behind.items()
        ):
            for message in await consumer.poll(1.0):
                if message.offset < behind[message.partition]:
                    yield message


async def follow(seen: Positions) -> AsyncIterator[str]:
    queue: asyncio.Queue[Record] = asyncio.Queue(WAITING)
    browsers.add(queue)  # first, so that there is no gap between what was missed and what comes
    seen = {**positions, **seen}
    try:
        yield ": hello\n\n"
        async for message in missed(seen, dict(positions)):
            yield event(message, seen)
        while queue in browsers or not queue.empty():
            try:
                message = await asyncio.wait_for(queue.get(), PING_S)
            except TimeoutError:
                yield ": ping\n\n"  # finds out whether the browser is still there
                continue
            if message.offset >= seen.get(message.partition, 0):
                yield event(message, seen)
    finally:
        browsers.discard(queue)


async def updates(request: Request) -> Response:
    try:
        last = request.headers.get("Last-Event-ID", "").split(",")
        seen = {int(p): int(o) for p, _, o in (each.partition(":") for each in last if each)}
    except ValueError:
        return PlainTextResponse("Last-Event-ID is PARTITION:OFFSET,...", status_code=400)
    if sum(positions[each] - seen[each] for each in seen if each in positions) > MISSED:
        seen = {}  # too much: the page is loaded again, or goes on with what comes now
    return StreamingResponse(follow(seen), media_type="text/event-stream")


web = Starlette(routes=[Route("/updates", updates)], lifespan=app.lifespan_of())
