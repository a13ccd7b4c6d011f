"""Producer, Consumer and Admin for asyncio: the same as in `barnabas`, with `await`."""

from barnabas.aio.admin import Admin
from barnabas.aio.consumer import Consumer
from barnabas.aio.producer import Producer

__all__ = ["Admin", "Consumer", "Producer"]
