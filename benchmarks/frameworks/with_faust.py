"""An agent of Faust, which has coroutines only."""

import faust
from stopwatch import arguments, group

servers, topic, _, concurrency, stopwatch = arguments()
tick = stopwatch.tick
app = faust.App(
    group(),
    broker=f"kafka://{servers}",
    store="memory://",
    web_enabled=False,
    consumer_auto_offset_reset="earliest",
    topic_disable_leader=True,
)


@app.agent(app.topic(topic, value_type=str, value_serializer="raw"), concurrency=concurrency)
async def handle(stream):  # type: ignore[no-untyped-def]
    async for _ in stream:
        tick()


faust.Worker(app, loglevel="ERROR").execute_from_commandline()
