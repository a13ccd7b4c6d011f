"""Producer, Consumer, Queue, Table, Admin for asyncio: as in `barnabas`, with `await`."""

from barnabas.aio.admin import Admin
from barnabas.aio.consumer import Consumer
from barnabas.aio.producer import Producer
from barnabas.aio.queue import Queue
from barnabas.aio.table import Table

__all__ = ["Admin", "Consumer", "Producer", "Queue", "Table"]
