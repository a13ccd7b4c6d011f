"""A handler of `barnabas.App`, run as `barnabas app run` does."""

import asyncio

import uvloop
from stopwatch import arguments, group

import barnabas

servers, topic, is_async, concurrency, stopwatch = arguments()
tick = stopwatch.tick
app = barnabas.App(servers)


def handle(_value: str) -> None:
    tick()


async def handle_async(_value: str) -> None:
    tick()


app.handler(topic, group=group(), name="handle", concurrency=concurrency)(
    handle_async if is_async else handle
)
with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(app.serve())
