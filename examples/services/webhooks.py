"""A webhook receiver: signed, stored before it is acknowledged, and handled once.

    barnabas server &
    WEBHOOK_SECRET=... uvicorn examples.services.webhooks:web

Senders repeat a delivery until they get an answer, so the same one comes twice now and then. The
log decides: of all records of a delivery the first one counts.
"""

import asyncio
import hashlib
import hmac
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import FastAPI, Header, HTTPException, Request

import barnabas
from barnabas import Message

SECRET = os.environ["WEBHOOK_SECRET"].encode()
REMEMBERED = timedelta(days=1)  # longer than senders repeat a delivery
ANSWER_S = 5.0  # shorter than senders wait for an answer

app = barnabas.App(os.environ.get("BARNABAS_BOOTSTRAP", "localhost:9092"))
web = FastAPI(lifespan=app.lifespan_of())
firsts: dict[str, tuple[int, int]] = {}
"""The partition and offset of the first record of each delivery."""


@dataclass
class Payment:
    payer: str
    cents: int


def signature(delivery_id: str, body: bytes) -> str:
    """Of both, so that a delivery can't be repeated under another id."""
    signed = delivery_id.encode() + b"." + body
    return "sha256=" + hmac.new(SECRET, signed, hashlib.sha256).hexdigest()


@web.post("/webhooks", status_code=202)
async def receive(
    request: Request,
    x_delivery_id: Annotated[str, Header()],
    x_signature: Annotated[str, Header()],
) -> str:
    """Answer when the delivery is stored; without an answer the sender repeats it."""
    body = await request.body()
    if not hmac.compare_digest(signature(x_delivery_id, body).encode(), x_signature.encode()):
        raise HTTPException(401, "the signature does not match")
    if x_delivery_id in firsts:
        return "known"
    try:
        async with asyncio.timeout(ANSWER_S):
            await app.send("deliveries", body, key=x_delivery_id)
    except (TimeoutError, barnabas.errors.BarnabasError) as error:
        raise HTTPException(503, "not stored, send it again") from error
    return "stored"


@app.handler("deliveries", group=None, start=datetime.now(UTC) - REMEMBERED)
async def remember(message: Message[str, bytes]) -> None:
    """In every process, so that each knows all deliveries."""
    firsts.setdefault(message.key, (message.partition, message.offset))


@app.handler("deliveries", group="unique-deliveries", produces="payments")
async def pass_firsts(message: Message[str, bytes]) -> bytes | None:
    """Two copies may be stored at the same time; only the first goes on."""
    await app.until_handled("remember", message)
    place = (message.partition, message.offset)
    is_first = firsts.setdefault(message.key, place) == place
    return message.value if is_first else None


@app.handler("payments", group="booking", retries=5, dead_letters="payments-dead")
async def book(payment: Payment, key: str) -> None:
    """At least once: a database would have the id of the delivery, `key`, as a unique column."""
    print(f"{key}: {payment.payer} pays {payment.cents / 100:.2f}")
