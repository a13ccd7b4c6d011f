"""Publish-subscribe: every group hears everything, whenever it comes.

    barnabas server &
    python examples/publish_subscribe.py [BOOTSTRAP]

The publisher does not know who listens. A subscriber that comes late hears it all from the start,
because a message stays in the log when it is read.
"""

import argparse
import asyncio
from collections.abc import AsyncIterator

from barnabas.aio import Consumer, Producer

ORDERS = 30


async def publish(bootstrap: str) -> None:
    async with Producer(bootstrap, key_format="str", value_format="json") as producer:
        for number in range(1, ORDERS + 1):
            order = {"number": number, "item": "olives", "euros": number % 7 + 1}
            await producer.send("orders", order, key=f"customer-{number % 5}")


async def orders(bootstrap: str, group: str) -> AsyncIterator[dict[str, int]]:
    """The orders, as a subscriber of this name hears them; it stops after the last."""
    async with Consumer(bootstrap, "orders", group=group, value_format="json") as consumer:
        heard = 0
        async for message in consumer:
            yield message.value
            heard += 1
            if heard == ORDERS:
                break


async def billing(bootstrap: str) -> str:
    due = 0
    async for order in orders(bootstrap, "billing"):
        due += order["euros"]
    return f"billing: {due} euros to collect"


async def shipping(bootstrap: str) -> str:
    parcels = [order["number"] async for order in orders(bootstrap, "shipping")]
    return f"shipping: {len(parcels)} parcels"


async def audit(bootstrap: str) -> str:
    large = [order async for order in orders(bootstrap, "audit") if order["euros"] > 5]
    return f"audit, a bit late: {len(large)} orders to look at"


async def main(bootstrap: str) -> None:
    subscribers = asyncio.gather(billing(bootstrap), shipping(bootstrap))
    await publish(bootstrap)
    print(*await subscribers, sep="\n")
    print(await audit(bootstrap))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    asyncio.run(main(parser.parse_args().bootstrap))
