"""A cache of prices: a compacted topic, as a dict in every process.

    barnabas server &
    barnabas topics create prices --config cleanup.policy=compact
    uvicorn examples.services.prices:web

The dict is built again at each start, and no request is answered before it is complete.
"""

import os
from dataclasses import dataclass

from fastapi import FastAPI, HTTPException

import barnabas
from barnabas import Message

app = barnabas.App(os.environ.get("BARNABAS_BOOTSTRAP", "localhost:9092"))
web = FastAPI(lifespan=app.lifespan_of())


@dataclass
class Price:
    cents: int


prices: dict[str, Price] = {}


@app.handler("prices", group=None, retries=3, on_failure="skip")
async def keep(message: Message[str, Price | None]) -> None:
    """A record that can't be decoded is logged and skipped: the last good price stays."""
    if message.value is None:
        prices.pop(message.key, None)
    else:
        prices[message.key] = message.value


@web.get("/prices/{item}")
async def look_up(item: str) -> Price:
    if item not in prices:
        raise HTTPException(404, f"no price for {item}")
    return prices[item]


@web.put("/prices/{item}")
async def change(item: str, price: Price) -> Price:
    """Answer when a look-up here finds the price; other processes follow in a moment."""
    await app.until_handled("keep", await app.send("prices", price, key=item))
    return price


@web.delete("/prices/{item}")
async def remove(item: str) -> None:
    await app.until_handled("keep", await app.send("prices", None, key=item))
