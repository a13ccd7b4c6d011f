"""A subscriber of FastStream: BACKEND is confluent or kafka (aiokafka)."""

import asyncio
import os
from importlib import import_module

from faststream import AckPolicy, FastStream
from stopwatch import arguments, group

servers, topic, is_async, concurrency, stopwatch = arguments()
tick = stopwatch.tick
backend = os.environ["BACKEND"]
broker = import_module(f"faststream.{backend}").KafkaBroker(servers, logger=None)
options = {"group_id": group(), "auto_offset_reset": "earliest", "ack_policy": AckPolicy.ACK_FIRST}
if concurrency > 1:
    options["max_workers"] = concurrency


def handle(_value: str) -> None:
    tick()


async def handle_async(_value: str) -> None:
    tick()


broker.subscriber(topic, **options)(handle_async if is_async else handle)
asyncio.run(FastStream(broker, logger=None).run())
